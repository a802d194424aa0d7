// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/config/config.hpp"

#include <string>

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

}  // namespace voxcycle
