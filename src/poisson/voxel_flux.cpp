// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/voxel_flux.hpp"

#include "voxcycle/core/error.hpp"

#include <array>
#include <vector>

#include <ATen/ATen.h>

namespace voxcycle {

at::Tensor voxel_flux(at::Tensor const& u, at::Tensor const& nu, Grid3 const& grid) {
  std::array const nodes{grid.nodes(0), grid.nodes(1), grid.nodes(2)};
  VOXCYCLE_REQUIRE(
      u.sizes() == at::IntArrayRef(nodes) && nu.sizes() == at::IntArrayRef(grid.voxels),
      "the flux needs u on nodes and nu in voxels of " << grid.name() << ". Pass these.");
  std::vector<at::Tensor> components;
  for (int axis = 0; axis < 3; ++axis) {
    auto slope = u.diff(1, axis).div(grid.spacing(axis));
    for (int other = 0; other < 3; ++other) {  // from the four edges to the centre
      auto const n = grid.voxels[static_cast<std::size_t>(other)];
      if (other != axis) slope = slope.narrow(other, 0, n).add(slope.narrow(other, 1, n)).div(2.0);
    }
    components.push_back(slope.mul(nu).masked_fill(nu == 0.0, 0.0));
  }
  return at::stack(components, -1);
}

}  // namespace voxcycle
