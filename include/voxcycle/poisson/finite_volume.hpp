// SPDX-License-Identifier: BSD-3-Clause
// Cell-centred finite volumes: -div(nu grad u) = f as a network of conductors between the centres
// of voxels.
#pragma once

#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/poisson/boundary.hpp"
#include "voxcycle/poisson/face_flow.hpp"

#include <array>
#include <optional>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Which discrete equations stand for -div(nu grad u) = f.
enum class Scheme {
  q1,            ///< trilinear elements: u on nodes, energies from above
  finite_volume  ///< seven points: u in the centres of voxels, energies from below
};

/// The points of a finite volume scheme as the nodes of a grid: the voxels' centres, and a plane of
/// points on each Dirichlet face, which hold its values. An axis of one voxel between two faces of
/// zero flux has a second plane of points, as grids have voxels: dead ends, which change no flow.
struct FiniteVolumePoints {
  FiniteVolumePoints(Grid3 const& voxels, Boundary const& boundary);

  Grid3 grid;  ///< whose nodes the points are; its last intervals may be half as long
  std::array<std::int64_t, 3> first{};  ///< of the centres, along each axis
  std::array<std::int64_t, 3> count{};  ///< of them: voxels

  /// The centres' part of a field on the points, [..., nx, ny, nz]: a view.
  at::Tensor centres(at::Tensor const& field) const;
};

/// The scheme's matrix K by its entries between neighbours, [B, 3, points]: at each point those
/// with the next along x, y and z, 0 where there is none. Rows of K sum to zero. Two voxels with
/// conductivities a and b, edges h along the line of centres, and a face of area A between them
/// share
///
///     -K_ij = A / (h/(2 a) + h/(2 b)) = A/h 2ab/(a + b),
///
/// the harmonic mean; to a Dirichlet face it is half a voxel, -K_ij = 2 a A/h. A voxel of 0 has
/// none.
/// @param nu  [B, 1, nx, ny, nz], float32 or float64, >= 0
/// @return of nu's type, where nu is
at::Tensor finite_volume_couplings(Grid3 const& voxels, Boundary const& boundary,
                                   at::Tensor const& nu);

/// K u on [B, 1, points] of the couplings' type, and K's diagonal.
at::Tensor apply_couplings(Grid3 const& points, at::Tensor const& couplings, at::Tensor const& u);
at::Tensor coupling_diagonal(Grid3 const& points, at::Tensor const& couplings);

/// Source times volume in each voxel: a load on [1, 1, points]. @param f  [1, 1, nx, ny, nz], or
/// one number
at::Tensor finite_volume_load(Grid3 const& voxels, Boundary const& boundary, at::Tensor const& f);

/// As face_flows, of u on the points.
/// @param couplings  of one sample
/// @param b  load or empty
FaceFlows finite_volume_flows(Grid3 const& voxels, Boundary const& boundary,
                              at::Tensor const& couplings, at::Tensor const& u,
                              std::optional<at::Tensor> const& b);

}  // namespace voxcycle
