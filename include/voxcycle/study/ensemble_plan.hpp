// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/study/ablate_plan.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace voxcycle {

/// Whether a config describes several trainings (ensemble.members).
bool is_ensemble(Config const& config);

/// <directory>/member_K, the run directory of member K, from 1.
std::string member_directory(std::string const& directory, std::int64_t number);

/// The trainings of an ensemble, each as its config describes it alone: of its own seed (run.seed
/// + K - 1) and directory, with what [member.K] says. Without an ensemble the config as it is.
/// @throws Error for sections of members that there are not, a key on the command line that a
/// section would undo, more members at once than there are, and members that are the same training.
std::vector<PlannedRun> plan_ensemble(Config const& config);

/// Why the solutions of members have no mean on one set of samples: the first of their problem's
/// keys that differs, and on the finest grid of each; nothing if they have.
/// @param own_grids  whether each is looked at on its own finest grid
std::optional<std::string> why_no_mean(std::vector<PlannedRun> const& members, bool own_grids);

}  // namespace voxcycle
