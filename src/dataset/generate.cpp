// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/dataset/generate.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/exit_status.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/parallel.hpp"
#include "voxcycle/core/printable.hpp"
#include "voxcycle/core/status_line.hpp"
#include "voxcycle/core/stop_signal.hpp"
#include "voxcycle/core/tensor_values.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/timer.hpp"
#include "voxcycle/dataset/sample_source.hpp"
#include "voxcycle/dataset/source_fields.hpp"
#include "voxcycle/io/shard.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/solver/solve_method.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "dataset/shard_jobs.hpp"
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

namespace voxcycle {
namespace {

/// Worst case of the reference solutions made so far.
struct SolveStatistics {
  std::int64_t solves = 0;
  int max_iterations = 0;
  double largest_residual = 0.0;
  double largest_bound = 0.0;  ///< of the relative energy-norm error
};

/// Of a second solve, so that it costs little beside a shard's others: at 32^3 FFTs need 24
/// iterations on kl, 70 on grf, and not all of these on inclusions of contrast 1e3.
constexpr std::int64_t kMaxVoxelsOfSecond = 32 * 32 * 32;
constexpr int kMaxIterationsOfSecond = 200;

/// |u - u_ref| / |u_ref|, sums over nodes.
double relative_difference(std::span<double const> u, std::vector<double> const& u_ref) {
  double difference = 0.0, norm = 0.0;
  for (std::size_t k = 0; k < u_ref.size(); ++k) {
    difference += (u[k] - u_ref[k]) * (u[k] - u_ref[k]);
    norm += u_ref[k] * u_ref[k];
  }
  return std::sqrt(norm > 0.0 ? difference / norm : difference);
}

/// Makes shards a few samples at a time, so that memory does not grow with their size.
class ShardMaker {
 public:
  /// @param memory  bytes that this process may hold; 0: unknown
  ShardMaker(DatasetOptions const& options, CoefficientFamily const& family, at::Device device,
             std::int64_t memory)
      : family_(family),
        device_(device),
        memory_(memory),
        boundary_(options.boundary),
        source_(options.source),
        source_fields_(options.source),
        method_(options.reference) {
    require_can_solve(method_, Scheme::q1, device);
  }

  /// @param after_share  hears what share of the shard is made, [0, 1)
  /// @throws StopRequested between two groups of samples, with nothing left of the shard.
  void make(ShardJob const& job, StopSignal const& stop,
            std::function<void(double)> const& after_share);

  SolveStatistics const& statistics() const { return statistics_; }
  /// Largest ShardSample::reference_difference made so far, by the grid's name.
  std::map<std::string, double> const& differences() const { return differences_; }

 private:
  bool fits_one_a_thread(ShardInfo const& info) const;
  std::vector<ShardSample> make_group(ShardJob const& job, std::int64_t begin, std::int64_t end);
  SolveResult solve(ShardInfo const& info, ShardSample const& sample, SolveMethod method,
                    int max_iterations) const;
  void solve_first_again(ShardInfo const& info, ShardSample& sample);
  void count(SolveResult const& result, ShardInfo const& info, std::int64_t index);

  CoefficientFamily const& family_;
  at::Device device_;
  std::int64_t memory_;
  Boundary boundary_;
  Source source_;
  SourceFields source_fields_;
  SolveMethod method_;
  SolveStatistics statistics_;
  std::map<std::string, double> differences_;
};

/// Float64 nodal fields that a reference solve holds at its peak, and its sample: 12 were measured,
/// and its cycles may be in float64 instead of float32.
constexpr std::int64_t kSolveFields = 18;

/// Samples made together where they fit: one a thread of large ones; of small ones more, which last
/// differently long.
std::int64_t group_size(Grid3 const& grid) {
  constexpr std::int64_t voxels = 1 << 20;  // a thread
  return at::get_num_threads() *
         std::clamp(voxels / grid.voxel_count(), std::int64_t{1}, std::int64_t{64});
}

/// Whether each thread may solve for a sample of its own at once.
bool ShardMaker::fits_one_a_thread(ShardInfo const& info) const {
  std::int64_t const all = at::get_num_threads() * kSolveFields * 8 * info.grid.node_count();
  return !info.has_reference || !device_.is_cpu() || memory_ == 0 || all <= memory_;
}

void ShardMaker::make(ShardJob const& job, StopSignal const& stop,
                      std::function<void(double)> const& after_share) {
  std::int64_t const maximum = fits_one_a_thread(job.info) ? group_size(job.info.grid) : 1;
  std::vector<ShardSample> group;
  std::int64_t begin = 0;
  write_shard(job.path, job.info, [&](std::int64_t local) {
    if (local == begin + std::ssize(group)) {
      if (stop.requested()) throw StopRequested();
      after_share(static_cast<double>(local) / static_cast<double>(job.info.samples));
      begin = local;
      group.clear();  // before the next ones need room
      group = make_group(job, begin, std::min(begin + maximum, job.info.samples));
    }
    return std::move(group[static_cast<std::size_t>(local - begin)]);
  });
}

std::vector<ShardSample> ShardMaker::make_group(ShardJob const& job, std::int64_t begin,
                                                std::int64_t end) {
  auto const& info = job.info;
  std::vector<ShardSample> samples(static_cast<std::size_t>(end - begin));
  std::vector<SolveResult> results(info.has_reference ? samples.size() : 0);
  auto const solve = [&](std::size_t k) {
    try {
      results[k] = this->solve(info, samples[k], method_, SolveOptions{}.max_iterations);
    } catch (Error& problem) {
      auto const index = info.first_index + begin + static_cast<std::int64_t>(k);
      problem.prepend(info.split + " sample " + std::to_string(index) + " of " +
                      family_.signature() + " at " + info.grid.label() + ": ");
      throw;
    }
    auto const values = values_of(results[k].u);
    samples[k].u_ref.assign(values.begin(), values.end());
    results[k].u.reset();
    if (begin == 0 && k == 0 && info.split == "held_out") solve_first_again(info, samples[0]);
  };
  // One sample a thread, if there are so many: the solver itself then runs serially and no thread
  // waits. Else one after the other, each with all threads, or on a GPU, which one keeps busy.
  bool const by_thread = device_.is_cpu() && end - begin >= at::get_num_threads();
  parallel_for(end - begin, info.grid.voxel_count(), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t k = first; k < last; ++k) {
      auto const at = static_cast<std::size_t>(k);
      std::int64_t const index = info.first_index + begin + k;
      samples[at] = make_coefficient(family_, info, job.origin, index);
      samples[at].f = source_fields_.of(info, index);
      if (info.has_reference && by_thread) solve(at);
    }
  });
  if (!by_thread) {
    for (std::size_t k = 0; k < results.size(); ++k) solve(k);
  }
  for (std::size_t k = 0; k < results.size(); ++k) {
    count(results[k], info, info.first_index + begin + static_cast<std::int64_t>(k));
  }
  return samples;
}

/// @return with u on the CPU, where the method that is not data.reference computes
SolveResult ShardMaker::solve(ShardInfo const& info, ShardSample const& sample, SolveMethod method,
                              int max_iterations) const {
  auto const voxels = [&](std::vector<float> const& values) {
    return at::from_blob(const_cast<float*>(values.data()), info.grid.voxel_shape(), at::kFloat)
        .to(method == method_ ? device_ : at::kCPU, at::kDouble);
  };
  std::optional<at::Tensor> b;
  if (!source_.is_zero()) {
    b = sample.f.empty() ? load_of_source(source_.value, info.grid)
                         : load_of_source(voxels(sample.f), info.grid);
  }
  auto result = solve_by(method, {info.grid, boundary_}, voxels(sample.nu),
                         {info.reference_tolerance, max_iterations}, b);
  result.u = result.u.cpu().contiguous();
  return result;
}

/// By the other method, if that costs little.
void ShardMaker::solve_first_again(ShardInfo const& info, ShardSample& sample) {
  if (info.grid.voxel_count() > kMaxVoxelsOfSecond) return;
  auto const other = method_ == SolveMethod::fft ? SolveMethod::multigrid : SolveMethod::fft;
  auto const result = solve(info, sample, other, kMaxIterationsOfSecond);
  if (!result.converged) return;
  double const difference = relative_difference(values_of(result.u), sample.u_ref);
  sample.reference_difference = difference;
  auto& largest = differences_[info.grid.name()];
  largest = std::max(largest, difference);
}

void ShardMaker::count(SolveResult const& result, ShardInfo const& info, std::int64_t index) {
  VOXCYCLE_REQUIRE(result.converged,
                   "reference solution "
                       << index << " at " << info.grid.label() << " reached "
                       << result.relative_residual << " after " << result.iterations
                       << " iterations, not " << info.reference_tolerance
                       << ". Raise data.reference_tolerance"
                       << (method_ == SolveMethod::fft ? ", or take data.reference = multigrid."
                                                       : "."));
  ++statistics_.solves;
  statistics_.max_iterations = std::max(statistics_.max_iterations, result.iterations);
  statistics_.largest_residual = std::max(statistics_.largest_residual, result.relative_residual);
  statistics_.largest_bound = std::max(statistics_.largest_bound, result.error_bound);
}

/// What the ranks did, each for itself and then all together.
struct Tally {
  std::int64_t made = 0, there = 0;
  SolveStatistics solved;
};

/// **Collective**.
Tally over_ranks(Tally const& mine, Communicator const& comm) {
  at::Tensor sums = at::tensor({mine.made, mine.there, mine.solved.solves}, at::kLong);
  at::Tensor maximum = at::tensor({static_cast<double>(mine.solved.max_iterations),
                                   mine.solved.largest_residual, mine.solved.largest_bound},
                                  at::kDouble);
  comm.all_reduce(sums, ReduceOperation::sum);
  comm.all_reduce(maximum, ReduceOperation::max);
  auto const* const counts = sums.const_data_ptr<std::int64_t>();
  auto const* const worst = maximum.const_data_ptr<double>();
  return {counts[0], counts[1], {counts[2], static_cast<int>(worst[0]), worst[1], worst[2]}};
}

/// Errors of reference solutions that are worth a warning.
constexpr double kWorrying = 1e-3;

/// What two ways to the same references say of each other. **Collective**.
void log_differences(DatasetOptions const& options, std::map<std::string, double> const& mine,
                     Communicator const& comm) {
  // Residuals at the tolerance leave errors of some times it at the contrasts that are compared.
  constexpr double suspicious = 1e4;
  for (std::size_t level = 0; level < options.grids.size(); ++level) {
    auto const& grid = options.grids[level];
    if (level > 0 && grid == options.grids[level - 1]) continue;
    auto const found = mine.find(grid.name());
    at::Tensor largest = at::tensor({found != mine.end() ? found->second : -1.0}, at::kDouble);
    comm.all_reduce(largest, ReduceOperation::max);
    double const difference = largest.item<double>();
    if (difference < 0.0) continue;
    std::string const text = format("references of %s: multigrid and FFT differ by %.1g",
                                    grid.label().c_str(), difference);
    if (difference <= suspicious * options.reference_tolerance) {
      log_info(text);
    } else {
      log_warning(text +
                  ", far more than data.reference_tolerance. Trust neither before you know "
                  "which is wrong.");
    }
  }
}

void log_summary(Tally const& all, std::int64_t jobs, double seconds, std::string const& place) {
  if (all.solved.solves > 0) {
    log_info(
        format("%ld reference solutions converged, at most %d iterations, largest relative "
               "residual %.1e, errors of at most %.1e in the relative energy norm",
               static_cast<long>(all.solved.solves), all.solved.max_iterations,
               all.solved.largest_residual, all.solved.largest_bound));
    if (all.solved.largest_bound > kWorrying) {
      log_warning(
          format("some reference solutions may be wrong by as much as %.1g of their energy norm: "
                 "the contrast of their coefficients is too large for float64, or they needed too "
                 "many iterations. Errors that evaluate and train measure are no better known than "
                 "that.",
                 all.solved.largest_bound));
    }
  }
  std::int64_t const left = jobs - all.made - all.there;
  log_info(format("%ld shards made, %ld were there%s, in %s: %s", static_cast<long>(all.made),
                  static_cast<long>(all.there),
                  left > 0 ? format(", %ld are left", static_cast<long>(left)).c_str() : "",
                  format_seconds(seconds).c_str(), place.c_str()));
}

/// Of processes that were killed.
void remove_old_leftovers(std::vector<ShardJob> const& jobs) {
  std::set<std::filesystem::path> directories;
  for (auto const& job : jobs) {
    directories.insert(std::filesystem::path(job.path).parent_path());
  }
  for (auto const& directory : directories) remove_leftovers(directory);
}

/// How far a rank's own shards are, on a line of rank 0.
class ShardsLine {
 public:
  ShardsLine(std::vector<ShardJob> const& jobs, std::vector<int> const& owner, int rank)
      : line_(rank == 0 ? StatusLine::Visible::yes : StatusLine::Visible::no, "generating") {
    for (std::size_t k = 0; k < jobs.size(); ++k) {
      if (owner[k] == rank) left_ += static_cast<double>(cost(jobs[k].info));
    }
  }

  /// @param share  made of this job
  void show(ShardJob const& job, double share) {
    double const of_job = share * static_cast<double>(cost(job.info));
    line_.show((made_ + of_job) / (made_ + left_));
  }
  /// @param made  false: it was there, which tells nothing of the others
  void end(ShardJob const& job, bool made) {
    double const of_job = static_cast<double>(cost(job.info));
    left_ -= of_job;
    if (made) made_ += of_job;
    line_.erase();
  }

 private:
  double made_ = 0.0, left_ = 0.0;  ///< costs
  ShareLine line_;
};

}  // namespace

int status_of(GenerateResult const& result, std::string const& directory,
              Communicator const& comm) {
  bool const speaks = comm.rank() == 0;
  if (result.complete) return 0;
  if (result.made == 0) {
    if (speaks) {
      log_error(
          "stopped before another shard was whole: nothing was gained. Give it more time or "
          "processes, or let shards have fewer samples (data.shard_samples, one number per "
          "level).");
    }
    return 1;
  }
  if (speaks) {
    print("stopped; the same command goes on, finished shards in %s are kept\n", directory.c_str());
  }
  return kStopped;
}

GenerateResult generate_shards(DatasetOptions const& options, Communicator const& comm,
                               at::Device device, std::int64_t memory) {
  Timer timer;
  auto const family = make_family(options.family);
  auto const jobs = plan_jobs(options, *family);
  require_no_other_sets(jobs);
  comm.together([&] {
    if (comm.rank() == 0) require_room_on_disk(jobs);
  });
  auto const owner = share_jobs(jobs, comm.size());
  StopSignal const stop;
  ShardMaker maker(options, *family, device, memory);
  Tally mine;
  ShardsLine line(jobs, owner, comm.rank());
  for (std::size_t k = 0; k < jobs.size() && !stop.requested(); ++k) {
    if (owner[k] != comm.rank()) continue;
    try {
      if (is_done(*family, jobs[k], stop)) {
        ++mine.there;
        line.end(jobs[k], false);
        continue;
      }
      maker.make(jobs[k], stop, [&](double share) { line.show(jobs[k], share); });
    } catch (StopRequested const&) {
      break;
    }
    ++mine.made;
    line.end(jobs[k], true);
    log_info(format("shard %zu of %zu: %s, %ld samples at %s%s", k + 1, jobs.size(),
                    jobs[k].info.split.c_str(), static_cast<long>(jobs[k].info.samples),
                    jobs[k].info.grid.label().c_str(),
                    jobs[k].info.has_reference ? " with references" : ""));
  }
  mine.solved = maker.statistics();
  Tally const all = over_ranks(mine, comm);
  log_differences(options, maker.differences(), comm);
  log_summary(all, std::ssize(jobs), timer.seconds(), options.directory);
  if (comm.rank() == 0) remove_old_leftovers(jobs);
  return {all.made + all.there == std::ssize(jobs), all.made};
}

}  // namespace voxcycle
