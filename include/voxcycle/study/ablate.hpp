// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/study/ablate_plan.hpp"

#include <vector>

namespace voxcycle {

/// Writes study.html, ablation.json and ablation.csv from what the runs' directories hold, and says
/// which runs are missing. Spectra of the error are computed where they are not kept from before.
/// @param config  of the whole study
void write_study_report(Config const& config, std::vector<PlannedRun> const& runs,
                        Communicator const& self);

}  // namespace voxcycle
