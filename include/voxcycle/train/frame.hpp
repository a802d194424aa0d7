// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/field/source.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/poisson/boundary.hpp"

#include <memory>

namespace voxcycle {

/// What a network must know of the equation on each grid: lift and mask of the boundary and, with
/// smoothing > 0, a smoother of that many steps (poisson/smoother.hpp) for nu = exp(x_0) and the
/// source.
FrameOfGrid frame_of(Boundary const& boundary, Source const& source, int smoothing);

/// What frame_of and the smoother of one unit hold, as Tape wants to know it.
/// @param value_bytes  of the solution's values
void plan_frames(Tape::Options& tape, Boundary const& boundary, Source const& source,
                 int smoothing);

/// The network of the options for this equation. @throws Error as make_network does.
std::shared_ptr<Network> make_network(NetworkOptions const& options, Boundary const& boundary,
                                      Source const& source);

}  // namespace voxcycle
