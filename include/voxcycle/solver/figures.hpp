// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/json.hpp"
#include "voxcycle/solver/solver.hpp"

#include <map>
#include <string>

namespace voxcycle {

/// "q1" and "finite_volume".
std::map<std::string, Scheme> const& scheme_words();

/// What is known of a solution, under the names that `solve --json` and Python have for it.
Json figures_of(Solution const& solution, SolveMethod method);

}  // namespace voxcycle
