// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/cli/command.hpp"
#include "voxcycle/comm/device_choice.hpp"
#include "voxcycle/study/ensemble_plan.hpp"

#include <vector>

namespace voxcycle {

/// How all that a command trained ended.
struct TrainEnd {
  bool finished;
  bool gained;  ///< as of TrainSummary
};

/// Trains the members one after the other, or in ensemble.at_once groups of the processes side by
/// side; each is the ordinary training of its config in its own run directory. All are looked at
/// before the first step of any. **Collective**.
TrainEnd train_ensemble(Invocation const& call, std::vector<PlannedRun> const& members,
                        DeviceChoice& place);

}  // namespace voxcycle
