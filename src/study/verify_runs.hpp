// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/study/runner.hpp"
#include "voxcycle/study/verify.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace voxcycle {

/// One step of one run: its place ("stage.step"), loss, and hashes of loss, weights and running
/// statistics.
struct StepRecord {
  std::string place;
  double value = 0.0;  ///< of the loss
  std::string loss, weights, statistics;

  bool same_bits(StepRecord const& other) const {
    return place == other.place && loss == other.loss && weights == other.weights &&
           statistics == other.statistics;
  }
};

/// The short trainings of voxcycle verify, each of them child processes.
class VerifyRuns {
 public:
  VerifyRuns(Config const& config, VerifyOptions const& options);

  /// One training on `processes`. @throws Error naming its log if it fails.
  std::vector<StepRecord> run(std::int64_t processes, std::string const& reduction) const;
  /// The training stopped and gone on with, on processes[0], processes[1], ... in turn.
  std::vector<StepRecord> run_in_parts(std::vector<std::int64_t> const& processes,
                                       std::int64_t steps) const;

 private:
  std::vector<StepRecord> session(std::string const& name, std::int64_t processes,
                                  std::vector<std::string> const& more) const;

  ScratchRuns runs_;
  std::string steps_;
};

}  // namespace voxcycle
