// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/face_flow.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/poisson/parallel.hpp"

#include <numeric>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

double sum_of(at::Tensor const& field) {
  at::Tensor const values = field.contiguous();
  return ordered_sum(values.const_data_ptr<double>(), values.numel());
}

/// Of what each process has, in the order of processes.
double sum_of_all(Space const& space, double here) {
  if (space.is_whole()) return here;
  at::Tensor const sums = space.comm()->all_gather(at::full({1}, here, at::kDouble));
  return sums.sum().item<double>();
}

/// The nodes of a face that belong to no Dirichlet face of an earlier axis.
at::Tensor own_nodes(at::Tensor const& field, Boundary const& boundary, int axis, int side) {
  at::Tensor nodes = field.narrow(2 + axis, side == 0 ? 0 : field.size(2 + axis) - 1, 1);
  for (int other = 0; other < axis; ++other) {
    bool const low = boundary.face(other, 0).kind == FaceKind::dirichlet;
    bool const high = boundary.face(other, 1).kind == FaceKind::dirichlet;
    nodes = nodes.narrow(2 + other, low ? 1 : 0,
                         field.size(2 + other) - (low ? 1 : 0) - (high ? 1 : 0));
  }
  return nodes;
}

}  // namespace

double FaceFlows::imbalance() const {
  return std::accumulate(into.begin(), into.end(), source);
}

FaceFlows face_flows(at::Tensor const& u, at::Tensor const& nu, Space const& space,
                     Boundary const& boundary, std::optional<at::Tensor> const& b) {
  VOXCYCLE_REQUIRE(u.dim() == 5 && u.size(0) == 1 && u.scalar_type() == at::kDouble,
                   "flows are those of one sample in float64, not of shape "
                       << u.sizes() << " and type " << u.scalar_type() << ". Pass one sample.");
  Grid3 const part = space.slab().part();
  at::Tensor const reaction =
      space.own_nodes(energy_and_gradient(from_datum(u, boundary), nu, part, b).gradient);
  Boundary const here = of_part(boundary, space.slab());
  FaceFlows flows;
  for (int axis = 0; axis < 3; ++axis) {
    for (int side = 0; side < 2; ++side) {
      if (boundary.face(axis, side).kind != FaceKind::dirichlet) continue;
      auto const face = static_cast<std::size_t>(axis) * 2 + static_cast<std::size_t>(side);
      bool const is_here = here.face(axis, side).kind == FaceKind::dirichlet;
      flows.into[face] =
          sum_of_all(space, is_here ? sum_of(own_nodes(reaction, here, axis, side)) : 0.0);
    }
  }
  if (b) flows.source = sum_of_all(space, sum_of(space.own_nodes(*b)));
  return flows;
}

}  // namespace voxcycle
