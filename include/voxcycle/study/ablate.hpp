// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/study/ablate_plan.hpp"

#include <string>
#include <vector>

namespace voxcycle {

/// What of a study is done.
enum class AblatePart {
  all,     ///< data, runs and report
  list,    ///< prints the runs
  data,    ///< data alone
  run,     ///< one run, with its data where they are missing
  report,  ///< the report alone, from the runs that are there
};

/// Trains all runs of the config's study that are not finished, several at once, and writes one
/// report over them.
/// @param run  number of the run, from 1, of AblatePart::run
/// @return exit status: 0, 1 if a run failed or a stop gained nothing, kStopped if there is more to
/// go on with
/// @throws Error for a config that no study, or no run of it, can be made of
int ablate(Config const& config, AblatePart part, std::string const& run, Communicator const& self);

/// Writes study.html, ablation.json and ablation.csv from what the runs' directories hold, and says
/// which runs are missing. Spectra of the error are computed where they are not kept from before.
/// @param config  of the whole study
void write_study_report(Config const& config, std::vector<PlannedRun> const& runs,
                        Communicator const& self);

}  // namespace voxcycle
