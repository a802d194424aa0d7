// SPDX-License-Identifier: BSD-3-Clause
#include "network/multigrid/residual_input.hpp"

#include "voxcycle/network/spatial.hpp"

#include <vector>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

at::Tensor at_corners(at::Tensor const& nodes) {
  std::vector<at::Tensor> corners;
  for (int corner = 0; corner < 8; ++corner) {
    at::Tensor values = nodes;
    for (int axis = 0; axis < 3; ++axis)
      values = values.narrow(2 + axis, corner >> (2 - axis) & 1, nodes.size(2 + axis) - 1);
    corners.push_back(values);
  }
  return at::cat(corners, 1);
}

}  // namespace

MicroBatches residual_input(LevelProblem const& problem, Grid3 const& grid, MicroBatches const& u,
                            MicroBatches const& x) {
  double const scale = static_cast<double>(grid.level()) / problem.size;
  return each(u, smoothed(problem, u, x), [&](at::Tensor const& before, at::Tensor const& after) {
    return at_corners(with_gradient_on_part(problem.space(), (after - before) * scale));
  });
}

}  // namespace voxcycle
