// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/clocked_communicator.hpp"
#include "voxcycle/core/timer.hpp"
#include "voxcycle/train/train_step.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace voxcycle {

/// The first steps of each stage as a Chrome trace, for Perfetto or chrome://tracing: a process is
/// a row, with its steps, their parts, and its collective calls.
class StepTrace {
 public:
  /// **Collective**. @param steps  of a stage; 0: no trace @param file  rank 0 writes it
  StepTrace(Communicator const& comm, std::int64_t steps, std::string file);

  void begin_stage() { left_ = steps_; }
  /// A step that ends now; the parts of its time are taken to follow each other. Writes what there
  /// is with the stage's last step that is wanted. **Collective**.
  /// @param calls  begin with the step
  void add(std::string const& name, double seconds, StepTimes const& parts,
           std::vector<CollectiveCall> const& calls);
  /// Writes what is not written yet. **Collective**.
  void write();

 private:
  Communicator const& comm_;
  std::int64_t steps_;
  std::string file_;
  std::int64_t left_ = 0;  ///< of the stage
  Timer clock_;            ///< of all ranks: restarted as they leave a barrier
  std::string heading_;    ///< names of this rank's rows, until its first event
  std::string here_;       ///< this rank's events since write()
  std::string written_;    ///< rank 0: all ranks' before
};

}  // namespace voxcycle
