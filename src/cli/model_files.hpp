// SPDX-License-Identifier: BSD-3-Clause
// What --model names.
#pragma once

#include "voxcycle/cli/command.hpp"
#include "voxcycle/solver/solver.hpp"

#include <string>
#include <vector>

namespace voxcycle {

/// The text of --model, "none" for none.
std::string model_file(Invocation const& call);

/// The checkpoints of --model: of a run directory its own, of an ensemble's those of its members.
/// @throws Error for a directory that is neither.
std::vector<std::string> checkpoints_of(Invocation const& call);

/// Reads them into `model` and `more_members`.
void load_models(Invocation const& call, SolverOptions& options);

}  // namespace voxcycle
