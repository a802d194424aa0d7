// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/field/source.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/poisson/boundary.hpp"

#include <memory>

namespace voxcycle {

/// About how large solutions are, measured from the datum: the range of the Dirichlet values or
/// |f|/8, u of the constant source f for nu = 1 between faces of 0 that are one apart. 1 where both
/// are 0.
double solution_size(Boundary const& boundary, Source const& source);

/// What a network must know of the equation on each grid: lift and mask of the boundary and, for
/// nu = exp(x_0) and the source, smoothers (poisson/smoother.hpp, with smoothing > 0) or, with
/// CoarseLevels::black_box, nested grids (poisson/nested_equation.hpp).
/// @param network  its smoothing and coarse
FrameOfGrid frame_of(Boundary const& boundary, Source const& source, NetworkOptions const& network);

/// The network of the options for this equation. @throws Error as make_network does.
std::shared_ptr<Network> make_network(NetworkOptions const& options, Boundary const& boundary,
                                      Source const& source);

}  // namespace voxcycle
