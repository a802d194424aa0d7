// SPDX-License-Identifier: BSD-3-Clause
// What GPUs do node by node, played on the CPU.
#include "poisson/operator/node_points.hpp"

#include "voxcycle/poisson/boundary.hpp"
#include "voxcycle/poisson/energy.hpp"

#include <cmath>

#include "multigrid_points.hpp"
#include "poisson/operator/element_matrix.hpp"
#include "poisson/operator/row_loops.hpp"
#include "q1_elements.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace node_points_test {

using testing::node_size;
using testing::play;
using testing::random_voxels;

TEST(NodePoints, DiagonalHasTheBitsOfTheCpu) {
  at::manual_seed(1);
  for (auto voxels : {std::array<std::int64_t, 3>{1, 1, 1}, {3, 4, 5}, {2, 7, 33}}) {
    Grid3 const grid{voxels, {1.0, 0.7, 1.9}};
    at::Tensor const nu = random_voxels(grid, 2, at::kFloat);
    at::Tensor const expected = stiffness_diagonal(nu, grid);
    at::Tensor const nodes = at::zeros_like(expected);
    play(nodes.numel(),
         NodeSumJob<float>{nu.const_data_ptr<float>(), nodes.mutable_data_ptr<float>(),
                           node_size(grid), static_cast<float>(element_diagonal(grid))});
    EXPECT_TRUE(at::equal(nodes, expected));
  }
}

template <class T>
void expect_chebyshev_bits(at::ScalarType dtype) {
  at::Tensor const inverse = at::rand({1000}, dtype), b = at::randn({1000}, dtype);
  at::Tensor const k_x = at::randn({1000}, dtype), d = at::randn({1000}, dtype);
  at::Tensor const x = at::randn({1000}, dtype);
  at::Tensor const expected_d = d.clone(), expected_x = x.clone();
  T const keep = T(0.3), take = T(1.7);
  row_loops::loops<T>().chebyshev(keep, take, inverse.const_data_ptr<T>(), b.const_data_ptr<T>(),
                                  k_x.const_data_ptr<T>(), expected_d.mutable_data_ptr<T>(),
                                  expected_x.mutable_data_ptr<T>(), x.numel());
  ChebyshevJob<T> const job{keep,
                            take,
                            inverse.const_data_ptr<T>(),
                            b.const_data_ptr<T>(),
                            k_x.const_data_ptr<T>(),
                            d.mutable_data_ptr<T>(),
                            x.mutable_data_ptr<T>()};
  play(x.numel(), job);
  EXPECT_TRUE(at::equal(d, expected_d));
  EXPECT_TRUE(at::equal(x, expected_x));
}

TEST(NodePoints, ChebyshevStepHasTheBitsOfTheCpu) {
  at::manual_seed(2);
  expect_chebyshev_bits<float>(at::kFloat);
  expect_chebyshev_bits<double>(at::kDouble);
}

// The first of several steps: nobody wrote the correction yet.
TEST(NodePoints, ChebyshevStepThatKeepsNothingReadsNothing) {
  double const weight = 0.5, b = 3.0, k_x = 1.0;
  double d = std::nan(""), x = 2.0;
  ChebyshevJob<double>{0.0, 0.25, &weight, &b, &k_x, &d, &x}(0);
  EXPECT_EQ(d, 0.25);
  EXPECT_EQ(x, 2.25);
}

template <class T>
void expect_lanczos_bits(at::ScalarType dtype) {
  std::int64_t const batch = 2, count = 500;
  at::Tensor const scale = at::rand({batch, count}, dtype), k_x = at::randn({batch, count}, dtype);
  at::Tensor const y = at::randn({batch, count}, dtype), other = at::randn({batch, count}, dtype);
  at::Tensor const x = at::zeros({batch, count}, dtype);
  at::Tensor const expected_other = other.clone(), expected_x = x.clone();
  // A sample of its own coefficients, and one whose iteration has ended.
  at::Tensor const x_k_x = at::tensor({3.0, 0.0}, at::kDouble);
  at::Tensor const y_y = at::tensor({2.0, 0.0}, at::kDouble);
  at::Tensor const y_y_before = at::tensor({7.0, 5.0}, at::kDouble);
  double const alpha[] = {3.0 / 2.0, 0.0}, beta2[] = {2.0 / 7.0, 0.0};
  for (std::int64_t k = 0; k < batch; ++k) {
    row_loops::loops<T>().lanczos(
        static_cast<T>(alpha[k]), static_cast<T>(beta2[k]), scale.const_data_ptr<T>() + k * count,
        k_x.const_data_ptr<T>() + k * count, y.const_data_ptr<T>() + k * count,
        expected_other.mutable_data_ptr<T>() + k * count,
        expected_x.mutable_data_ptr<T>() + k * count, count);
  }
  LanczosJob<T> const job{static_cast<std::uint32_t>(count),
                          x_k_x.const_data_ptr<double>(),
                          y_y.const_data_ptr<double>(),
                          y_y_before.const_data_ptr<double>(),
                          scale.const_data_ptr<T>(),
                          k_x.const_data_ptr<T>(),
                          y.const_data_ptr<T>(),
                          other.mutable_data_ptr<T>(),
                          x.mutable_data_ptr<T>()};
  play(x.numel(), job);
  EXPECT_TRUE(at::equal(other, expected_other));
  EXPECT_TRUE(at::equal(x, expected_x));
}

TEST(NodePoints, LanczosStepHasTheBitsOfTheCpu) {
  at::manual_seed(3);
  expect_lanczos_bits<float>(at::kFloat);
  expect_lanczos_bits<double>(at::kDouble);
}

TEST(NodePoints, DivisionIsZeroOnDirichletNodes) {
  at::Tensor const inverse = at::tensor({0.5, 0.0, 0.25}, at::kDouble);
  at::Tensor const x = at::tensor({1.0, 7.0, -1.0}, at::kDouble);
  DivideJob<double> const job{inverse.const_data_ptr<double>(), x.mutable_data_ptr<double>()};
  play(x.numel(), job);
  EXPECT_TRUE(at::equal(x, at::tensor({2.0, 0.0, -4.0}, at::kDouble)));
}

}  // namespace node_points_test
}  // namespace voxcycle
