// SPDX-License-Identifier: BSD-3-Clause
// Shards with their references.
#pragma once

#include "voxcycle/comm/process_grid.hpp"
#include "voxcycle/core/stop_signal.hpp"
#include "voxcycle/dataset/source_fields.hpp"
#include "voxcycle/solver/solve_method.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "dataset/shard_jobs.hpp"
#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Worst case of the reference solutions made so far.
struct SolveStatistics {
  std::int64_t solves = 0;
  int max_iterations = 0;
  double largest_residual = 0.0;
  double largest_bound = 0.0;  ///< of the relative energy-norm error
};

/// Makes shards a few samples at a time, so that memory does not grow with their size.
class ShardMaker {
 public:
  /// @param process_grid  whose groups solve together for references of the grids that it cuts
  /// @param memory        bytes that this process may hold; 0: unknown
  ShardMaker(DatasetOptions const& options, CoefficientFamily const& family,
             ProcessGrid const& process_grid, at::Device device, std::int64_t memory)
      : family_(family),
        process_grid_(process_grid),
        device_(device),
        memory_(memory),
        boundary_(options.boundary),
        source_(options.source),
        source_fields_(options.source),
        method_(options.reference) {
    require_can_solve(method_, Scheme::q1, device);
  }

  /// Whether the processes of a group make the shard together, of which the first one writes it.
  bool is_shared(ShardInfo const& info) const;
  /// **Collective** over the group, if the shard is shared.
  /// @param after_share  hears what share of the shard is made, [0, 1)
  /// @throws StopRequested between two groups of samples, with nothing left of the shard.
  void make(ShardJob const& job, StopSignal const& stop,
            std::function<void(double)> const& after_share);

  SolveStatistics const& statistics() const { return statistics_; }
  /// Largest ShardSample::reference_difference made so far, by the grid's name.
  std::map<std::string, double> const& differences() const { return differences_; }

 private:
  bool fits_one_a_thread(ShardInfo const& info) const;
  Space space_of(ShardInfo const& info) const;
  std::vector<ShardSample> make_group(ShardJob const& job, std::int64_t begin, std::int64_t end);
  SolveResult solve(ShardInfo const& info, Space const& space, ShardSample const& sample,
                    SolveMethod method, int max_iterations) const;
  void solve_first_again(ShardInfo const& info, ShardSample& sample);
  void count(SolveResult const& result, ShardInfo const& info, std::int64_t index);

  CoefficientFamily const& family_;
  ProcessGrid const& process_grid_;
  at::Device device_;
  std::int64_t memory_;
  Boundary boundary_;
  Source source_;
  SourceFields source_fields_;
  SolveMethod method_;
  SolveStatistics statistics_;
  std::map<std::string, double> differences_;
};

}  // namespace voxcycle
