// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/poisson/boundary.hpp"

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Ways from all nodes of a grid to its Dirichlet nodes along conductors between neighbours: a
/// forest that takes strong conductors before weak ones (Prim's, by powers of two), and short ways
/// among equal ones. What a residual r has too much at a node flows along its way. With L the
/// matrix of the network of conductors c, and f the flows, Thomson's principle says
///
///     r^T L^-1 r = min sum f^2/c over all flows that lead r away,
///
/// so that these ones prove a bound of it, whatever the conductors are: a residual tells of the
/// error without knowledge of a spectrum.
class SpanningTree {
 public:
  /// @param conductances  [1, 3, nodes], float64, CPU, >= 0: with the next node along each axis
  SpanningTree(Grid3 const& grid, Boundary const& boundary, at::Tensor const& conductances);

  /// sum f^2/c. Infinity where a part without a Dirichlet node has a residual that does not sum to
  /// zero. @param r  [1, 1, nodes], float64; its values on Dirichlet nodes do not matter
  double bound(at::Tensor const& r) const;

  /// flows + f: flows [1, 3, nodes], each to the next node along the axis, then leave nothing of r.
  void add_flows(at::Tensor const& r, at::Tensor& flows) const;

 private:
  template <class Body>
  double descend(at::Tensor const& r, Body const& body) const;  ///< @return not led away

  static constexpr std::uint8_t root = 6, floating = 7, none = 8;

  std::int64_t nodes_ = 0;
  std::int64_t strides_[3] = {};
  at::Tensor conductances_;
  std::vector<std::int32_t> order_;   ///< nodes, parents first
  std::vector<std::uint8_t> parent_;  ///< of a node: 2 axis + side, root, ...
};

}  // namespace voxcycle
