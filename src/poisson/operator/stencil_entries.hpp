// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "poisson/operator/element_matrix.hpp"
#include "poisson/operator/stencil_points.hpp"
#include "poisson/operator/stencil_rows.hpp"

namespace voxcycle {

/// Calls body(entries) with the VoxelEntries or CouplingEntries of a matrix.
/// @param values  matrix.values(), or a copy of them elsewhere
template <class T, class Body>
void with_entries(StencilSource const& matrix, at::Tensor const& values, Body const& body) {
  T const* const first = values.const_data_ptr<T>();
  auto const size = [&](int axis) { return static_cast<int>(matrix.grid().nodes(axis)); };
  FieldSize const nodes{size(0), size(1), size(2)};
  if (matrix.kind() == StencilSource::Values::couplings) {
    return body(CouplingEntries<T>{first, nodes});
  }
  body(VoxelEntries<T>(first, nodes, element_stiffness(matrix.grid())[0].data()));
}

}  // namespace voxcycle
