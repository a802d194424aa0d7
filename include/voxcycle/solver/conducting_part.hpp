// SPDX-License-Identifier: BSD-3-Clause
// Voxels of nu = 0 take no part in a solve, and neither do bodies that they cut off.
#pragma once

#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/poisson/boundary.hpp"
#include "voxcycle/poisson/finite_volume.hpp"

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// The voxels that a solve is about.
struct ConductingPart {
  at::Tensor nu;                    ///< as given, 0 in what was dropped
  std::int64_t empty_voxels = 0;    ///< that were 0 as given
  std::int64_t dropped_voxels = 0;  ///< others that are 0 now
  std::int64_t dropped_bodies = 0;  ///< that they make
};

/// nu without the bodies that touch no Dirichlet face: constants are free in them, and nothing
/// flows. Without a Dirichlet face the largest body is kept. Voxels are of one body if they share a
/// face, or for Q1, which conducts from node to node, a node.
/// @param nu  one sample, [..., nx, ny, nz], float64, contiguous, >= 0
ConductingPart conducting_part(Grid3 const& grid, Boundary const& boundary, Scheme scheme,
                               at::Tensor const& nu);

/// nu without the bodies that do not lead from one face of an axis to the other through voxels that
/// share faces. What they touch along an edge or at a corner only takes nothing from them: the
/// conductivity of the geometry along the axis is that of the rest, and 0 if there is none.
ConductingPart spanning_part(Grid3 const& grid, int axis, at::Tensor const& nu);

}  // namespace voxcycle
