// SPDX-License-Identifier: BSD-3-Clause
// voxcycle generate: samples of the coefficient family as shards, with references for held-out
// ones and, if asked for, training ones.
#include "cli/generate.hpp"

#include "voxcycle/cli/command.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/parallel.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/timer.hpp"
#include "voxcycle/dataset/sample_source.hpp"
#include "voxcycle/io/shard.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/reference/multigrid_pcg.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "cli/device_choice.hpp"
#include "cli/options.hpp"
#include "cli/sample_sets.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// One shard to make: samples [first, first + samples) of a split at one grid.
struct ShardJob {
  std::string path;
  ShardInfo info;
  std::int64_t origin = 0;  ///< index in the family of the split's first sample
};

/// Worst case of the reference solutions made so far.
struct SolveStatistics {
  std::int64_t solves = 0;
  int most_iterations = 0;
  double largest_residual = 0.0;
};

std::vector<ShardJob> plan_jobs(Config const& config, CoefficientFamily const& family) {
  auto const most = config.integer("data.shard_samples", 1);
  std::vector<ShardJob> jobs;
  auto const add_split = [&](std::string const& split, Grid3 const& grid) {
    ShardInfo info = sample_info(config, family, split, grid);
    std::int64_t const samples = info.samples;
    std::int64_t const origin = split_origin(config, family, split);
    std::int64_t const shards = (samples + most - 1) / most;
    for (std::int64_t k = 0; k < shards; ++k) {
      info.first_index = samples * k / shards;
      info.samples = samples * (k + 1) / shards - info.first_index;
      jobs.push_back({shard_directory(config.text("data.directory"), split, grid) + "/" +
                          shard_name(k, shards),
                      info, origin});
    }
  };
  auto const grids = level_grids(config);
  for (std::size_t level = 0; level < grids.size(); ++level) {
    if (level > 0 && grids[level] == grids[level - 1]) continue;
    if (!made_on_the_fly(config)) add_split("train", grids[level]);
    add_split("held_out", grids[level]);
  }
  return jobs;
}

/// Whether the job's file is there, whole and the same. @throws Error for a shard of other data.
bool is_done(CoefficientFamily const& family, ShardJob const& job) {
  if (!std::filesystem::exists(job.path)) return false;
  ShardReader const shard(job.path);
  auto const& found = shard.info();
  VOXCYCLE_REQUIRE(found == job.info,
                   job.path << " holds other data (family " << found.family << ", source "
                            << found.source << ", grid " << found.grid.name() << ", "
                            << found.samples << " samples"
                            << (found.has_reference ? " with" : " without")
                            << " references). Choose another data.directory or remove the file.");
  // The arrays of a user's file may have been replaced under the same name.
  VOXCYCLE_REQUIRE(
      shard.read(0).nu == make_sample(family, job.info, job.origin, job.info.first_index).nu,
      job.path << " holds other data (its first sample is not what " << found.family
               << " gives now). Choose another data.directory or remove the file.");
  return true;
}

/// Adds the reference solution by multigrid-preconditioned conjugate gradients, which converge for
/// contrasts that the FFTW preconditioner cannot cope with and are faster on smooth fields, too.
SolveResult solve_reference(Problem const& problem, Source const& source, double tolerance,
                            at::Device device, ShardSample& sample) {
  auto const& n = problem.grid.voxels;
  auto const voxels = [&](std::vector<float>& values) {
    return at::from_blob(values.data(), {1, 1, n[0], n[1], n[2]}, at::kFloat)
        .to(device, at::kDouble);
  };
  at::Tensor const nu = voxels(sample.nu);
  std::optional<at::Tensor> b;
  if (!source.is_zero()) {
    b = sample.f.empty() ? load_of_source(source.value, problem.grid)
                         : load_of_source(voxels(sample.f), problem.grid);
  }
  auto result = solve_multigrid_pcg(problem, nu, {.tolerance = tolerance}, {}, b);
  at::Tensor const u = result.u.cpu().contiguous();
  sample.u_ref.assign(u.const_data_ptr<double>(), u.const_data_ptr<double>() + u.numel());
  result.u.reset();
  return result;
}

void make_shard(Config const& config, CoefficientFamily const& family, ShardJob const& job,
                at::Device device, SolveStatistics& statistics) {
  auto const& info = job.info;
  double const tolerance = config.real("data.reference_tolerance", 1e-13, 1e-2);
  std::vector<ShardSample> samples(static_cast<std::size_t>(info.samples));
  std::vector<SolveResult> results(info.has_reference ? samples.size() : 0);
  Problem const problem{info.grid, boundary_of(config)};
  Source const source = source_of(config);
  auto const solve = [&](std::size_t k) {
    results[k] = solve_reference(problem, source, tolerance, device, samples[k]);
  };
  // One sample a thread: the solver itself then runs serially and no thread waits.
  parallel_for(info.samples, info.grid.voxel_count(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      auto const at = static_cast<std::size_t>(k);
      samples[at] = make_sample(family, info, job.origin, info.first_index + k);
      if (info.has_reference && device.is_cpu()) solve(at);
    }
  });
  if (!device.is_cpu()) {  // one sample keeps a GPU busy
    for (std::size_t k = 0; k < results.size(); ++k) solve(k);
  }
  for (std::size_t k = 0; k < results.size(); ++k) {
    VOXCYCLE_REQUIRE(results[k].converged, "reference solution "
                                               << info.first_index + static_cast<std::int64_t>(k)
                                               << " at " << info.grid.label() << " reached "
                                               << results[k].relative_residual << " after "
                                               << results[k].iterations << " iterations, not "
                                               << tolerance << ". Raise data.reference_tolerance.");
    ++statistics.solves;
    statistics.most_iterations = std::max(statistics.most_iterations, results[k].iterations);
    statistics.largest_residual =
        std::max(statistics.largest_residual, results[k].relative_residual);
  }
  write_shard(job.path, info, [&](std::int64_t local) {
    return std::move(samples[static_cast<std::size_t>(local)]);
  });
}

int generate(Invocation const& call) {
  generate_shards(call.config, call.comm);
  return 0;
}

}  // namespace

void generate_shards(Config const& config, Communicator const& comm) {
  DeviceChoice const place(config, comm);
  Timer timer;
  auto const family = make_family(family_options(config));
  auto const jobs = plan_jobs(config, *family);
  SolveStatistics statistics;
  std::size_t made = 0;
  std::size_t mine = 0;
  for (std::size_t k = 0; k < jobs.size(); ++k) {
    if (static_cast<int>(k % static_cast<std::size_t>(comm.size())) != comm.rank()) {
      continue;
    }
    ++mine;
    if (is_done(*family, jobs[k])) continue;
    make_shard(config, *family, jobs[k], place.device(), statistics);
    ++made;
    log_info(format("shard %zu of %zu: %s, %ld samples at %s%s", k + 1, jobs.size(),
                    jobs[k].info.split.c_str(), static_cast<long>(jobs[k].info.samples),
                    jobs[k].info.grid.label().c_str(),
                    jobs[k].info.has_reference ? " with references" : ""));
  }
  comm.barrier();
  if (statistics.solves > 0) {
    log_info(
        format("%ld reference solutions converged, at most %d iterations, largest relative "
               "residual %.1e",
               static_cast<long>(statistics.solves), statistics.most_iterations,
               statistics.largest_residual));
  }
  log_info(format("%zu shards made, %zu were there, in %s: %s", made, mine - made,
                  format_seconds(timer.seconds()).c_str(), config.text("data.directory").c_str()));
}

Command generate_command() {
  return {"generate", "coefficient fields and reference solutions into shards", {}, generate};
}

}  // namespace voxcycle
