// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/dataset/generate.hpp"

#include "voxcycle/comm/process_grid.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/exit_status.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/printable.hpp"
#include "voxcycle/core/status_line.hpp"
#include "voxcycle/core/stop_signal.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/timer.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "dataset/shard_jobs.hpp"
#include "dataset/shard_maker.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

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

/// Places of the jobs that this process makes, those that groups make together first.
std::vector<std::size_t> own_jobs(std::vector<ShardJob> const& jobs, ShardMaker const& maker,
                                  ProcessGrid const& process_grid) {
  std::vector<std::size_t> mine;
  for (bool const shared : {true, false}) {
    std::vector<std::size_t> places;
    std::vector<ShardJob> some;
    for (std::size_t k = 0; k < jobs.size(); ++k) {
      if (maker.is_shared(jobs[k].info) != shared) continue;
      places.push_back(k);
      some.push_back(jobs[k]);
    }
    auto const owner = share_jobs(some, shared ? process_grid.groups() : process_grid.all.size());
    int const me = shared ? process_grid.group() : process_grid.all.rank();
    for (std::size_t k = 0; k < some.size(); ++k) {
      if (owner[k] == me) mine.push_back(places[k]);
    }
  }
  return mine;
}

/// Those that make a shard: this process alone, or its group.
class Company {
 public:
  Company(bool shared, ProcessGrid const& process_grid)
      : group_(shared ? process_grid.spatial.get() : nullptr) {}

  bool leads() const { return group_ == nullptr || group_->rank() == 0; }
  bool any(bool here) const { return group_ == nullptr ? here : group_->any(here); }
  /// What the one that leads finds. @throws on all of them what that throws
  bool finds(std::function<bool()> const& look) const {
    bool found = false, stopped = false;
    auto const try_it = [&] {
      try {
        found = leads() && look();
      } catch (StopRequested const&) {
        stopped = true;
      }
    };
    group_ == nullptr ? try_it() : group_->together(try_it);
    if (any(stopped)) throw StopRequested();
    return any(found);
  }

 private:
  Communicator const* group_;
};

/// How far a rank's own shards are, on a line of rank 0.
class ShardsLine {
 public:
  /// @param mine  places of these jobs
  ShardsLine(std::vector<ShardJob> const& jobs, std::vector<std::size_t> const& mine, int rank)
      : line_(rank == 0 ? StatusLine::Visible::yes : StatusLine::Visible::no, "generating") {
    for (std::size_t const k : mine) left_ += static_cast<double>(cost(jobs[k].info));
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
                               at::Device device, std::int64_t memory, Slabs const& slabs) {
  Timer timer;
  auto const family = make_family(options.family);
  auto const jobs = plan_jobs(options, *family);
  require_no_other_sets(jobs);
  comm.together([&] {
    if (comm.rank() == 0) require_room_on_disk(jobs);
  });
  // One process, or a number that makes no groups: each has its samples as a whole.
  ProcessGrid const process_grid(comm, comm.size() % slabs.count == 0 ? slabs : Slabs{});
  ShardMaker maker(options, *family, process_grid, device, memory);
  auto const mine = own_jobs(jobs, maker, process_grid);
  StopSignal const stop;
  Tally tally;
  ShardsLine line(jobs, mine, comm.rank());
  for (std::size_t const k : mine) {
    auto const& job = jobs[k];
    Company const company(maker.is_shared(job.info), process_grid);
    if (company.any(stop.requested())) break;
    try {
      if (company.finds([&] { return is_done(*family, job, stop); })) {
        tally.there += company.leads() ? 1 : 0;
        line.end(job, false);
        continue;
      }
      maker.make(job, stop, [&](double share) { line.show(job, share); });
    } catch (StopRequested const&) {
      break;
    }
    line.end(job, true);
    if (!company.leads()) continue;
    ++tally.made;
    log_info(format("shard %zu of %zu: %s, %ld samples at %s%s", k + 1, jobs.size(),
                    job.info.split.c_str(), static_cast<long>(job.info.samples),
                    job.info.grid.label().c_str(),
                    job.info.has_reference ? " with references" : ""));
  }
  tally.solved = maker.statistics();
  Tally const all = over_ranks(tally, comm);
  log_differences(options, maker.differences(), comm);
  log_summary(all, std::ssize(jobs), timer.seconds(), options.directory);
  if (comm.rank() == 0) remove_old_leftovers(jobs);
  return {all.made + all.there == std::ssize(jobs), all.made};
}

}  // namespace voxcycle
