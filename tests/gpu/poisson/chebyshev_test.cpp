// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/multigrid/chebyshev.hpp"

#include "voxcycle/poisson/boundary.hpp"
#include "voxcycle/poisson/smoother.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

// Four steps of some hundred operations in float64.
constexpr double rounding = 1e-12;

double difference(at::Tensor const& on_gpu, at::Tensor const& expected) {
  return ((on_gpu.cpu() - expected).abs().max() / expected.abs().max()).item<double>();
}

TEST(ChebyshevOnGpu, StepsAreThoseOfTheCpu) {
  at::manual_seed(1);
  Grid3 const grid{{20, 12, 34}, {1.0, 1.0, 1.0}};
  at::Tensor const nu = at::rand({2, 1, 20, 12, 34}, at::kDouble) + 0.1;
  at::Tensor const u = at::randn({2, 1, 21, 13, 35}, at::kDouble);
  at::Tensor const b = at::randn({2, 1, 21, 13, 35}, at::kDouble);
  at::Tensor const mask = free_node_mask(grid, Boundary{}, at::kDouble);

  auto const here = make_voxel_operator(grid, nu);
  auto const there = make_voxel_operator(grid, nu.cuda());
  auto const steps = smoothing_steps(4);
  at::Tensor const expected = chebyshev(*here, jacobi_weights(*here, mask), u.clone(), b, steps);
  at::Tensor const found =
      chebyshev(*there, jacobi_weights(*there, mask.cuda()), u.cuda(), b.cuda(), steps);
  EXPECT_TRUE(found.is_cuda());
  EXPECT_LT(difference(found, expected), rounding);

  Smoother const smoother(grid, mask, nu, steps), on_gpu(grid, mask.cuda(), nu.cuda(), steps);
  EXPECT_LT(difference(on_gpu.smooth(u.cuda(), b.cuda()), smoother.smooth(u, b)), rounding);
  EXPECT_LT(difference(on_gpu.transposed(u.cuda()), smoother.transposed(u)), rounding);
}

}  // namespace
}  // namespace voxcycle
