// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/clocked_communicator.hpp"

#include <string>
#include <vector>

namespace voxcycle {

/// How long each process waited for others, as a share of the steps' time, by rank; empty where one
/// trained alone, or made no step.
struct Waiting {
  std::vector<double> shares;
  std::vector<std::string> hosts;  ///< by rank
};

/// Processes for which the others waited kLateShare of the time longer than they themselves did:
/// their ranks, the latest first.
std::vector<int> late_processes(std::vector<double> const& shares);
inline constexpr double kLateShare = 0.10;

/// Lines for people: who waited how long, the shortest first, and who was late; "" for nobody.
std::string waiting_text(Waiting const& waiting);

/// Counts how long processes wait for each other in steps. Who comes to the sums of a step last
/// waits least there: what others are in collective calls longer is the time that they waited for
/// it. So nobody looks at another's clock, and ranks talk of it once in many steps.
class WaitingCount {
 public:
  explicit WaitingCount(Communicator const& comm) : comm_(comm) {}

  /// A step of this process. @param calls  its collective calls
  void add(double seconds, std::vector<CollectiveCall> const& calls);
  /// @return the shares of the steps since it was last called. **Collective**.
  std::vector<double> recent();
  /// Of all steps. **Collective**.
  Waiting total();

 private:
  Communicator const& comm_;
  std::vector<double> in_calls_;                  ///< seconds, by step since recent()
  double seconds_ = 0.0;                          ///< of these steps
  std::vector<double> all_waited_, all_seconds_;  ///< before these steps, by rank
};

}  // namespace voxcycle
