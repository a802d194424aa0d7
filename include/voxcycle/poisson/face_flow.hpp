// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/space.hpp"
#include "voxcycle/poisson/boundary.hpp"

#include <array>
#include <optional>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// What flows through the faces of the box, by the equation -div(nu grad u) = f.
struct FaceFlows {
  /// Integral of nu du/dn over each face (n outwards): what flows into the box there; 0 through
  /// zero-flux faces. Order x-, x+, y-, y+, z-, z+.
  std::array<double, 6> into{};
  double source = 0.0;  ///< integral of f: what arises inside
  /// Sum of the seven: 0 but for the residual of u on free nodes and rounding.
  double imbalance() const;
};

/// The flows that are consistent with the discretisation: the flow into the box at a Dirichlet node
/// is its reaction (K u - b)_i, so that they balance exactly where nodal averages of nu du/dn would
/// not. A node on an edge counts to the face whose value it has (x before y before z).
/// Of a grid that processes share out: those of the whole, on all processes. **Collective**.
/// @param space  or the Grid3 that this process has whole
/// @param u   one sample, [1, 1, nx+1, ny+1, nz+1], float64
/// @param nu  [1, 1, nx, ny, nz], float64
/// @param b   load or empty
/// @throws Error for shapes or types that do not fit.
FaceFlows face_flows(at::Tensor const& u, at::Tensor const& nu, Space const& space,
                     Boundary const& boundary, std::optional<at::Tensor> const& b = std::nullopt);

}  // namespace voxcycle
