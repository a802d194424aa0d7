// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/solver/solver.hpp"

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// What a network alone says of the conductivity along an axis. lower <= (the value of trilinear
/// elements, whose equation the network solves) <= upper. All in nu's unit.
struct [[nodiscard]] NetworkConductivity {
  double upper = 0.0;  ///< the energy of its solution: not below the voxel geometry's, either
  double lower = 0.0;  ///< less what its error may add, 0 where nothing is proven
  bool from_network =
      false;  ///< false: its solution was worse than a straight line, which is taken
  double network_seconds = 0.0;  ///< of the network
  double seconds = 0.0;          ///< with the bounds of its error
};

/// @throws Error for a solver that is not for u = 1 and 0 on the faces across x, zero flux
/// elsewhere.
void require_unit_difference(Solver const& solver);

/// @param solver  as above, with a fill of 0
/// @param nu      [nx, ny, nz], >= 0, of which some leads from face to face along the axis: that is
/// taken
/// @param axis    0, 1 or 2: the box is turned so that it is the network's x
/// @throws Error as Solver::certify and require_unit_difference do.
NetworkConductivity network_conductivity(Solver const& solver, Grid3 const& grid,
                                         at::Tensor const& nu, int axis);

}  // namespace voxcycle
