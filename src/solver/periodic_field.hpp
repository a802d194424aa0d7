// SPDX-License-Identifier: BSD-3-Clause
// Nodal fields of a box whose opposite faces are one: its lower faces stand for both.
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include <ATen/ATen.h>

namespace voxcycle {

/// The grid whose nodes are those of `grid` without its upper faces: a shape only, an axis of one
/// voxel has no length.
inline Grid3 without_upper_faces(Grid3 grid) {
  for (int axis = 0; axis < 3; ++axis) {
    grid.lengths[axis] -= grid.spacing(axis);
    --grid.voxels[axis];
  }
  return grid;
}

/// [1, 1, nx, ny, nz] to [1, 1, nx+1, ny+1, nz+1]: the upper faces have the lower ones' values.
inline at::Tensor wrapped(at::Tensor u) {
  for (int axis = 4; axis >= 2; --axis) u = at::cat({u, u.narrow(axis, 0, 1)}, axis);
  return u;
}

/// The transpose of `wrapped`: adds the upper faces to the lower ones. Overwrites r.
inline at::Tensor folded(at::Tensor r) {
  for (int axis = 2; axis < 5; ++axis) {
    std::int64_t const n = r.size(axis) - 1;
    r.narrow(axis, 0, 1).add_(r.narrow(axis, n, 1));
    r = r.narrow(axis, 0, n);
  }
  return r.contiguous();
}

}  // namespace voxcycle
