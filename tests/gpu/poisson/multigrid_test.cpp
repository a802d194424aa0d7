// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/multigrid.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

double difference(at::Tensor const& on_gpu, at::Tensor const& expected) {
  return ((on_gpu.cpu() - expected).abs().max() / expected.abs().max()).item<double>();
}

/// Of a cycle's some hundred operations a node, and of a direct solve.
double rounding(at::ScalarType dtype) {
  return dtype == at::kDouble ? 1e-10 : 1e-3;
}

class MultigridOnGpuGrids : public ::testing::TestWithParam<Grid3> {};

TEST_P(MultigridOnGpuGrids, CyclesAreThoseOfTheCpu) {
  at::manual_seed(1);
  Grid3 const grid = GetParam();
  at::Tensor const nu = at::exp(at::randn(grid.voxel_shape(2), at::kDouble));
  at::Tensor const r = at::randn(grid.node_shape(2), at::kDouble);
  Boundary floating;
  for (auto& face : floating.faces) face = {};
  for (auto const& boundary : {Boundary{}, floating}) {
    for (auto coarse : {CoarseOperator::average, CoarseOperator::black_box}) {
      for (auto dtype : {at::kDouble, at::kFloat}) {
        MultigridOptions const options{.coarse = coarse, .dtype = dtype};
        Multigrid const here(grid, boundary, nu, options),
            there(grid, boundary, nu.cuda(), options);
        at::Tensor const b = boundary.has_dirichlet() ? r : r - r.mean({1, 2, 3, 4}, true);
        EXPECT_TRUE(there.cycle(b.cuda()).is_cuda());
        EXPECT_LT(difference(there.cycle(b.cuda()), here.cycle(b)), rounding(dtype));
        EXPECT_LT(difference(there.full_cycle(b.cuda()), here.full_cycle(b)), rounding(dtype));
        EXPECT_TRUE(at::equal(there.cycle(b.cuda()), there.cycle(b.cuda()))) << "the same bits";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, MultigridOnGpuGrids,
                         ::testing::Values(Grid3{{32, 16, 48}, {1.0, 0.5, 1.5}},
                                           Grid3{{29, 17, 21}, {2.9, 1.7, 2.1}},
                                           Grid3{{31, 1, 48}, {3.1, 0.1, 4.8}}));

TEST(MultigridOnGpu, GraphsHaveTheSameBits) {
  at::manual_seed(3);
  Grid3 const grid = Grid3::cube(16);
  at::Tensor const nu = at::exp(at::randn({2, 1, 16, 16, 16}, at::kDouble)).cuda();
  for (auto coarse : {CoarseOperator::average, CoarseOperator::black_box}) {
    MultigridOptions options{.coarse = coarse, .dtype = at::kFloat};
    Multigrid const plain(grid, Boundary{}, nu, options);
    options.graph = true;
    Multigrid const graph(grid, Boundary{}, nu, options);
    for (int time = 0; time < 4; ++time) {
      at::Tensor const b = at::randn({2, 1, 17, 17, 17}, at::kDouble).cuda();
      EXPECT_TRUE(at::equal(graph.cycle(b), plain.cycle(b))) << time;
      EXPECT_TRUE(at::equal(graph.full_cycle(b), plain.full_cycle(b))) << time;
    }
  }
}

TEST(MultigridOnGpu, BodiesAreThoseOfTheCpu) {
  at::manual_seed(2);
  Grid3 const grid{{32, 16, 48}, {1.0, 0.5, 1.5}};
  at::Tensor const nu = at::where(at::rand(grid.voxel_shape()) > 0.97, 1e5, 1.0).to(at::kDouble);
  at::Tensor const b = at::randn(grid.node_shape(), at::kDouble);
  MultigridOptions const options{.coarse = CoarseOperator::black_box, .deflate_bodies = true};
  Multigrid const here(grid, Boundary{}, nu, options), there(grid, Boundary{}, nu.cuda(), options);
  EXPECT_GT(here.bodies(), 50);
  EXPECT_EQ(there.bodies(), here.bodies());
  EXPECT_LT(difference(there.cycle(b.cuda()), here.cycle(b)), rounding(at::kDouble));
  EXPECT_TRUE(at::equal(there.cycle(b.cuda()), there.cycle(b.cuda()))) << "the same bits";
}

}  // namespace
}  // namespace voxcycle
