// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/finite_volume.hpp"

#include "voxcycle/poisson/multigrid.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace finite_volume_test {

Boundary between_x_faces() {
  return {};
}

TEST(FiniteVolume, ConductancesAreThoseOfHalfVoxelsInSeries) {
  Grid3 const grid{{3, 2, 2}, {1.5, 0.5, 4.0}};  // edges 0.5, 0.25, 2
  at::Tensor nu = at::ones({1, 1, 3, 2, 2}, at::kDouble);
  nu.select(2, 1).fill_(3.0);
  nu.select(2, 2).fill_(0.0);
  FiniteVolumePoints const points(grid, between_x_faces());
  at::Tensor const k = finite_volume_couplings(grid, between_x_faces(), nu);
  EXPECT_EQ(points.first, (std::array<std::int64_t, 3>{1, 0, 0}));
  auto const along = [&](int axis, std::int64_t x) { return k[0][axis][x][0][0].item<double>(); };
  double const area_x = 0.25 * 2.0, area_y = 0.5 * 2.0;
  EXPECT_DOUBLE_EQ(along(0, 0), -area_x / 0.25);                       // half a voxel of 1
  EXPECT_DOUBLE_EQ(along(0, 1), -area_x / (0.25 / 1.0 + 0.25 / 3.0));  // half and half
  EXPECT_DOUBLE_EQ(along(0, 2), 0.0);                                  // to one of 0
  EXPECT_DOUBLE_EQ(along(1, 2), -area_y / 0.25 * 3.0);                 // two voxels of 3
}

// Both ways to keep couplings, 3 and 13 a node, against neighbours' differences.
TEST(FiniteVolume, MatrixIsTheSumOverNeighbours) {
  at::manual_seed(3);
  for (std::int64_t n : {3, 14}) {  // 13 a node below 1500 nodes
    Grid3 const grid{{n, n - 1, n + 2}, {1.0, 1.0, 1.0}};
    at::Tensor k = -at::rand({1, 3, n + 1, n, n + 3}, at::kDouble);
    for (int axis = 0; axis < 3; ++axis) k[0][axis].select(axis, -1).zero_();
    at::Tensor const u = at::randn({1, 1, n + 1, n, n + 3}, at::kDouble);
    at::Tensor expected = at::zeros_like(u), diagonal = at::zeros_like(u);
    for (int axis = 0; axis < 3; ++axis) {
      std::int64_t const dim = 2 + axis, pairs = u.size(dim) - 1;
      at::Tensor const c = k[0][axis].narrow(axis, 0, pairs).neg();
      at::Tensor const flow = c * (u.narrow(dim, 0, pairs) - u.narrow(dim, 1, pairs));
      expected.narrow(dim, 0, pairs).add_(flow);
      expected.narrow(dim, 1, pairs).sub_(flow);
      diagonal.narrow(dim, 0, pairs).add_(c);
      diagonal.narrow(dim, 1, pairs).add_(c);
    }
    EXPECT_LT((apply_couplings(grid, k, u) - expected).abs().max().item<double>(), 1e-13);
    EXPECT_LT((coupling_diagonal(grid, k) - diagonal).abs().max().item<double>(), 1e-13);
  }
}

// The grid halved: a cycle on a residual leaves a small part of the error.
TEST(FiniteVolume, MultigridReducesErrors) {
  at::manual_seed(4);
  Grid3 const grid = Grid3::cube(40);
  at::Tensor const nu = at::exp(at::randn({1, 1, 40, 40, 40}, at::kDouble));
  FiniteVolumePoints const points(grid, between_x_faces());
  at::Tensor const k = finite_volume_couplings(grid, between_x_faces(), nu);
  Multigrid const multigrid(points.grid, between_x_faces(), Couplings{k});
  EXPECT_GE(multigrid.levels(), 2);
  at::Tensor const mask =
      free_node_mask(points.grid, between_x_faces(), at::TensorOptions(at::kDouble));
  at::Tensor error = at::randn(points.grid.node_shape(), at::kDouble) * mask;
  auto const energy = [&] {
    return (error * apply_couplings(points.grid, k, error)).sum().item<double>();
  };
  double const before = energy();
  for (int cycle = 0; cycle < 4; ++cycle) {
    error.sub_(multigrid.cycle(apply_couplings(points.grid, k, error)));
  }
  EXPECT_LT(energy(), 1e-3 * before);
}

TEST(FiniteVolume, LoadsAreSourceTimesVolume) {
  Grid3 const grid{{4, 3, 5}, {4.0, 6.0, 2.5}};  // a voxel holds 1
  at::manual_seed(5);
  at::Tensor const f = at::randn(grid.voxel_shape(), at::kDouble);
  FiniteVolumePoints const points(grid, between_x_faces());
  at::Tensor const load = finite_volume_load(grid, between_x_faces(), f);
  EXPECT_TRUE(at::equal(points.centres(load), f));
  EXPECT_DOUBLE_EQ(load.sum().item<double>(), f.sum().item<double>());
}

TEST(FiniteVolume, FlowsAreThoseThroughTheFaces) {
  Grid3 const grid{{4, 3, 5}, {2.0, 3.0, 1.0}};
  at::Tensor const nu = at::full(grid.voxel_shape(), 2.0, at::kDouble);
  Boundary const boundary = parse_boundary("5, 1, flux, flux, flux, flux");
  FiniteVolumePoints const points(grid, boundary);
  at::Tensor const k = finite_volume_couplings(grid, boundary, nu);
  // Linear: 5 at x = 0, 1 at x = 2. Points behind the last centre cut its half voxel into parts.
  at::Tensor u = at::empty(points.grid.node_shape(), at::kDouble);
  std::int64_t const last = points.grid.voxels[0];
  for (std::int64_t x = 0; x <= last; ++x) {
    double const h = 0.5;
    double const place =
        x == 0   ? 0.0
        : x <= 4 ? (static_cast<double>(x) - 0.5) * h
                 : 2.0 - 0.5 * h * static_cast<double>(last - x) / static_cast<double>(last - 4);
    u.select(2, x).fill_(5.0 - 2.0 * place);
  }
  auto const flows = finite_volume_flows(grid, boundary, k, u, {});
  EXPECT_NEAR(flows.into[0], 2.0 * 2.0 * 3.0, 1e-12);  // nu |u'| area
  EXPECT_NEAR(flows.into[1], -12.0, 1e-12);
  EXPECT_EQ(flows.into[2], 0.0);
}

}  // namespace finite_volume_test
}  // namespace voxcycle
