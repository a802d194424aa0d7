// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/network_conductivity.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/timer.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/solver/conducting_part.hpp"
#include "voxcycle/solver/conductivity.hpp"

#include <array>

#include <ATen/ATen.h>

namespace voxcycle {

void require_unit_difference(Solver const& solver) {
  VOXCYCLE_REQUIRE(
      unit_axis(solver.boundary()) == 0,
      "conductivities need a model trained for '1, 0, flux, flux, flux, flux', not for '"
          << to_string(solver.boundary()) << "'. Leave out the model, or name another.");
}

/// u's energy 2 J(u) is the flow of the exact solution plus the square of u's error, of which
/// certify knows bounds relative to that flow: flow (1 + error^2) = 2 J(u).
NetworkConductivity network_conductivity(Solver const& solver, Grid3 const& grid,
                                         at::Tensor const& nu, int axis) {
  require_unit_difference(solver);
  Timer const timer;
  std::array<int, 3> const order{axis, (axis + 1) % 3, (axis + 2) % 3};
  Grid3 turned;
  for (std::size_t a = 0; a < 3; ++a) {
    auto const from = static_cast<std::size_t>(order[a]);
    turned.voxels[a] = grid.voxels[from];
    turned.lengths[a] = grid.lengths[from];
  }
  auto const given = nu.to(at::kCPU, at::kDouble).contiguous().view(grid.voxel_shape());
  at::Tensor const voxels = spanning_part(grid, axis, given)
                                .nu[0][0]
                                .permute({order[0], order[1], order[2]})
                                .contiguous();
  Solution const s = solver.certify(voxels, turned);
  at::Tensor const u = s.u.view(turned.node_shape());
  double const energy =
      2.0 * energy_and_gradient(u, voxels.view(turned.voxel_shape()), turned).energy.item<double>();
  auto const square = [](double x) { return x * x; };
  double const per_flow = turned.lengths[0] / (turned.lengths[1] * turned.lengths[2]);
  return {.upper = per_flow * energy / (1.0 + square(s.bounds->lower)),
          .lower = per_flow * energy / (1.0 + square(s.bounds->upper)),
          .from_network = s.start.from_network,
          .network_seconds = s.seconds.network,
          .seconds = timer.seconds()};
}

}  // namespace voxcycle
