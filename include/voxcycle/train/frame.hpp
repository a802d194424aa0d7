// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/field/source.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/poisson/boundary.hpp"

namespace voxcycle {

/// What LevelProblem and what works on one micro-batch hold, as Tape wants to know it.
/// tape.solution_bytes must be set.
void plan_frames(Tape::Options& tape, Boundary const& boundary, Source const& source,
                 NetworkOptions const& network);

}  // namespace voxcycle
