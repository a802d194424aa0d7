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
#include "voxcycle/train/stop_signal.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "cli/device_choice.hpp"
#include "cli/options.hpp"
#include "cli/shard_jobs.hpp"
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

namespace voxcycle {
namespace {

/// Worst case of the reference solutions made so far.
struct SolveStatistics {
  std::int64_t solves = 0;
  int most_iterations = 0;
  double largest_residual = 0.0;
};

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

/// Thrown amid a shard that is given up because the program was asked to stop.
struct Stopped : Error {
  Stopped() : Error("stopped") {}
};

/// Makes shards a few samples at a time, so that memory does not grow with their size.
class ShardMaker {
 public:
  ShardMaker(Config const& config, CoefficientFamily const& family, at::Device device)
      : family_(family),
        device_(device),
        boundary_(boundary_of(config)),
        source_(source_of(config)) {}

  /// @throws Stopped between two groups of samples, with nothing left of the shard.
  void make(ShardJob const& job, StopSignal const& stop);

  SolveStatistics const& statistics() const { return statistics_; }

 private:
  std::vector<ShardSample> make_group(ShardJob const& job, std::int64_t begin, std::int64_t end);
  void count(SolveResult const& result, ShardInfo const& info, std::int64_t index);

  CoefficientFamily const& family_;
  at::Device device_;
  Boundary boundary_;
  Source source_;
  SolveStatistics statistics_;
};

/// Samples made together: one a thread of large ones; of small ones more, which last differently
/// long.
std::int64_t group_size(Grid3 const& grid) {
  constexpr std::int64_t voxels = 1 << 20;  // a thread
  return at::get_num_threads() *
         std::clamp(voxels / grid.voxel_count(), std::int64_t{1}, std::int64_t{64});
}

void ShardMaker::make(ShardJob const& job, StopSignal const& stop) {
  std::vector<ShardSample> group;
  std::int64_t begin = 0;
  write_shard(job.path, job.info, [&](std::int64_t local) {
    if (local == begin + std::ssize(group)) {
      if (stop.requested()) throw Stopped();
      begin = local;
      group.clear();  // before the next ones need room
      group = make_group(job, begin, std::min(begin + group_size(job.info.grid), job.info.samples));
    }
    return std::move(group[static_cast<std::size_t>(local - begin)]);
  });
}

std::vector<ShardSample> ShardMaker::make_group(ShardJob const& job, std::int64_t begin,
                                                std::int64_t end) {
  auto const& info = job.info;
  std::vector<ShardSample> samples(static_cast<std::size_t>(end - begin));
  std::vector<SolveResult> results(info.has_reference ? samples.size() : 0);
  Problem const problem{info.grid, boundary_};
  auto const solve = [&](std::size_t k) {
    results[k] = solve_reference(problem, source_, info.reference_tolerance, device_, samples[k]);
  };
  // One sample a thread: the solver itself then runs serially and no thread waits.
  parallel_for(end - begin, info.grid.voxel_count(), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t k = first; k < last; ++k) {
      auto const at = static_cast<std::size_t>(k);
      samples[at] = make_sample(family_, info, job.origin, info.first_index + begin + k);
      if (info.has_reference && device_.is_cpu()) solve(at);
    }
  });
  if (!device_.is_cpu()) {  // one sample keeps a GPU busy
    for (std::size_t k = 0; k < results.size(); ++k) solve(k);
  }
  for (std::size_t k = 0; k < results.size(); ++k) {
    count(results[k], info, info.first_index + begin + static_cast<std::int64_t>(k));
  }
  return samples;
}

void ShardMaker::count(SolveResult const& result, ShardInfo const& info, std::int64_t index) {
  VOXCYCLE_REQUIRE(result.converged, "reference solution "
                                         << index << " at " << info.grid.label() << " reached "
                                         << result.relative_residual << " after "
                                         << result.iterations << " iterations, not "
                                         << info.reference_tolerance
                                         << ". Raise data.reference_tolerance.");
  ++statistics_.solves;
  statistics_.most_iterations = std::max(statistics_.most_iterations, result.iterations);
  statistics_.largest_residual = std::max(statistics_.largest_residual, result.relative_residual);
}

/// What the ranks did, each for itself and then all together.
struct Tally {
  std::int64_t made = 0, there = 0;
  SolveStatistics solved;
};

/// **Collective**.
Tally over_ranks(Tally const& mine, Communicator const& comm) {
  at::Tensor sums = at::tensor({mine.made, mine.there, mine.solved.solves}, at::kLong);
  at::Tensor most =
      at::tensor({static_cast<double>(mine.solved.most_iterations), mine.solved.largest_residual},
                 at::kDouble);
  comm.all_reduce(sums, ReduceOperation::sum);
  comm.all_reduce(most, ReduceOperation::max);
  auto const* const counts = sums.const_data_ptr<std::int64_t>();
  auto const* const worst = most.const_data_ptr<double>();
  return {counts[0], counts[1], {counts[2], static_cast<int>(worst[0]), worst[1]}};
}

void log_summary(Tally const& all, std::int64_t jobs, double seconds, std::string const& place) {
  if (all.solved.solves > 0) {
    log_info(
        format("%ld reference solutions converged, at most %d iterations, largest relative "
               "residual %.1e",
               static_cast<long>(all.solved.solves), all.solved.most_iterations,
               all.solved.largest_residual));
  }
  std::int64_t const left = jobs - all.made - all.there;
  log_info(format("%ld shards made, %ld were there%s, in %s: %s", static_cast<long>(all.made),
                  static_cast<long>(all.there),
                  left > 0 ? format(", %ld are left", static_cast<long>(left)).c_str() : "",
                  format_seconds(seconds).c_str(), place.c_str()));
}

int generate(Invocation const& call) {
  if (generate_shards(call.config, call.comm)) return 0;
  if (call.comm.rank() == 0) {
    std::printf("stopped; the same command goes on, finished shards in %s are kept\n",
                call.config.text("data.directory").c_str());
  }
  return kStopped;
}

}  // namespace

bool generate_shards(Config const& config, Communicator const& comm) {
  DeviceChoice const place(config, comm);
  Timer timer;
  auto const family = make_family(family_options(config));
  auto const jobs = plan_jobs(config, *family);
  require_no_other_sets(jobs);
  auto const owner = share_jobs(jobs, comm.size());
  StopSignal const stop;
  ShardMaker maker(config, *family, place.device());
  Tally mine;
  for (std::size_t k = 0; k < jobs.size() && !stop.requested(); ++k) {
    if (owner[k] != comm.rank()) continue;
    if (is_done(*family, jobs[k])) {
      ++mine.there;
      continue;
    }
    try {
      maker.make(jobs[k], stop);
    } catch (Stopped const&) {
      break;
    }
    ++mine.made;
    log_info(format("shard %zu of %zu: %s, %ld samples at %s%s", k + 1, jobs.size(),
                    jobs[k].info.split.c_str(), static_cast<long>(jobs[k].info.samples),
                    jobs[k].info.grid.label().c_str(),
                    jobs[k].info.has_reference ? " with references" : ""));
  }
  mine.solved = maker.statistics();
  Tally const all = over_ranks(mine, comm);
  log_summary(all, std::ssize(jobs), timer.seconds(), config.text("data.directory"));
  return all.made + all.there == std::ssize(jobs);
}

Command generate_command() {
  return {"generate", "coefficient fields and reference solutions into shards", {}, generate};
}

}  // namespace voxcycle
