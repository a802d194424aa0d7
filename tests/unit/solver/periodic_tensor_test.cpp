// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/periodic_tensor.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/solver/fast_poisson.hpp"
#include "voxcycle/solver/multigrid_pcg.hpp"

#include <cmath>

#include "../poisson/q1_elements.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace periodic_tensor_test {

using testing::for_each_voxel;
using testing::Q1Element;
using testing::random_voxels;
using testing::relative_difference;

PeriodicTensorOptions const kTight{.tolerance = 1e-12};
// Energies whose fields have an error of 1e-6 at most.
constexpr double kAgreement = 1e-10;
// Transforms of a few values and a dense solve of condition number below 1e3, in float64.
constexpr double kRounding = 1e-12;

Grid3 const kSmall{{5, 4, 6}, {1.0, 0.7, 1.9}};

at::Tensor matrix_of(PeriodicTensor const& tensor) {
  at::Tensor matrix = at::empty({3, 3}, at::kDouble);
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) matrix[i][j] = tensor.matrix[i][j];
  }
  return matrix;
}

at::Tensor tensor_of(Grid3 const& grid, at::Tensor const& nu) {
  auto const result = periodic_tensor(grid, nu, kTight);
  EXPECT_TRUE(result.converged) << result.error;
  return matrix_of(result);
}

/// The dense matrix of the periodic nodes, and its products with the coordinates, voxel by voxel:
/// K [n, n], B [n, 3] and C [3, 3], so that the tensor times the volume is C - B^T K^+ B.
struct DenseCell {
  at::Tensor k, b, c;

  DenseCell(at::Tensor const& nu, Grid3 const& grid) {
    Q1Element const element(grid);
    auto const [nx, ny, nz] = grid.voxels;
    k = at::zeros({grid.voxel_count(), grid.voxel_count()}, at::kDouble);
    b = at::zeros({grid.voxel_count(), 3}, at::kDouble);
    c = at::zeros({3, 3}, at::kDouble);
    auto ks = k.accessor<double, 2>(), bs = b.accessor<double, 2>(), cs = c.accessor<double, 2>();
    auto const* const values = nu.const_data_ptr<double>();
    for_each_voxel(grid, [&](std::int64_t v, std::array<std::int64_t, 8> const&) {
      std::int64_t const x = v / (ny * nz), y = v / nz % ny, z = v % nz;
      auto const node = [&](int i) {
        return ((x + (i >> 2 & 1)) % nx * ny + (y + (i >> 1 & 1)) % ny) * nz + (z + (i & 1)) % nz;
      };
      auto const place = [&](int i, int axis) {
        return (i >> (2 - axis) & 1) * grid.spacing(axis);
      };
      for (int i = 0; i < 8; ++i) {
        for (int j = 0; j < 8; ++j) {
          double const entry = values[v] * element.stiffness[i][j];
          ks[node(i)][node(j)] += entry;
          for (int a = 0; a < 3; ++a) {
            bs[node(i)][a] += entry * place(j, a);
            for (int d = 0; d < 3; ++d) cs[d][a] += place(i, d) * entry * place(j, a);
          }
        }
      }
    });
  }

  at::Tensor inverse_times(at::Tensor const& load) const {
    return at::linalg_solve(k + 1.0, load);  // fixes the mean to zero where the load sums to zero
  }

  at::Tensor tensor(Grid3 const& grid) const {
    return (c - b.t().matmul(inverse_times(b))) /
           (grid.lengths[0] * grid.lengths[1] * grid.lengths[2]);
  }
};

TEST(PeriodicTensor, FastPoissonEqualsADenseSolve) {
  for (Grid3 const& grid : {kSmall, Grid3{{1, 7, 2}, {1.0, 1.0, 1.0}}}) {
    at::Tensor r = at::rand(grid.voxel_shape(), at::kDouble);
    r -= r.mean();
    at::Tensor const z = FastPoisson(periodic_problem(grid)).solve(r);
    DenseCell const dense(at::ones(grid.voxel_shape(), at::kDouble), grid);
    EXPECT_LT(relative_difference(z.flatten(), dense.inverse_times(r.flatten())), kRounding)
        << grid.name();
  }
}

TEST(PeriodicTensor, EqualsADenseSolve) {
  at::manual_seed(7);
  for (Grid3 const& grid : {kSmall, Grid3{{1, 4, 3}, {0.3, 1.0, 1.0}}, Grid3::cube(2)}) {
    at::Tensor const nu = random_voxels(grid, 1).pow(2.0);
    EXPECT_LT(relative_difference(tensor_of(grid, nu), DenseCell(nu, grid).tensor(grid)),
              kAgreement)
        << grid.name();
  }
}

TEST(PeriodicTensor, OfLayersIsExact) {
  for (int axis = 0; axis < 3; ++axis) {
    at::Tensor nu = at::full(kSmall.voxel_shape(), 2.0, at::kDouble);
    nu.narrow(2 + axis, 1, 2).fill_(0.05);
    auto const n = static_cast<double>(kSmall.voxels[static_cast<std::size_t>(axis)]);
    auto const result = periodic_tensor(kSmall, nu, kTight);
    double const arithmetic = (2.0 * (n - 2.0) + 0.05 * 2.0) / n;
    double const harmonic = n / ((n - 2.0) / 2.0 + 2.0 / 0.05);
    for (int i = 0; i < 3; ++i) {
      EXPECT_NEAR(result.matrix[i][i], i == axis ? harmonic : arithmetic, kAgreement);
      EXPECT_NEAR(result.matrix[i][(i + 1) % 3], 0.0, kAgreement);
      EXPECT_EQ(result.iterations[i] > 0, i == axis);
    }
    EXPECT_NEAR(result.principal_values[0], harmonic, kAgreement);
    EXPECT_NEAR(result.principal_values[2], arithmetic, kAgreement);
    EXPECT_NEAR(result.principal_directions[0][axis], 1.0, kAgreement);
  }
}

TEST(PeriodicTensor, TurnsAndShiftsWithTheImage) {
  at::manual_seed(3);
  Grid3 const grid{{4, 5, 6}, {1.0, 1.25, 1.5}};
  at::Tensor const nu = random_voxels(grid, 1)[0][0].clone(), k = tensor_of(grid, nu);
  EXPECT_GT((k[0][1].abs() / k[0][0]).item<double>(), 1e-3);  // else the signs tell nothing
  EXPECT_LT(relative_difference(tensor_of(grid, nu.roll({1, 3, -2}, {0, 1, 2})), k), kAgreement);
  // y to x, z to y, x to z.
  at::Tensor const order = at::tensor({1, 2, 0}, at::kLong);
  EXPECT_LT(relative_difference(
                tensor_of({{5, 6, 4}, {1.25, 1.5, 1.0}}, nu.permute({1, 2, 0}).contiguous()),
                k.index_select(0, order).index_select(1, order)),
            kAgreement);
  // A quarter turn about z: e_x to e_y, e_y to -e_x.
  at::Tensor const turn = at::tensor({0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0}, at::kDouble);
  at::Tensor const q = turn.view({3, 3});
  EXPECT_LT(relative_difference(
                tensor_of({{5, 4, 6}, {1.25, 1.0, 1.5}}, at::rot90(nu, 1, {0, 1}).contiguous()),
                q.matmul(k).matmul(q.t())),
            kAgreement);
}

// Layers of 1 and 4 across (1, 1, 0), cut into ever finer staircases, which conduct more than plane
// layers do: their least value tends to the harmonic mean from above, the others are the
// arithmetic one.
TEST(PeriodicTensor, OfStaircasesTendsToSlantedLayersFromAbove) {
  double const harmonic = 2.0 / (1.0 + 1.0 / 4.0), arithmetic = 2.5;
  double last = 0.2 * harmonic;
  for (std::int64_t const n : {4, 8, 16, 32}) {
    at::Tensor const x = at::arange(n, at::kLong);
    at::Tensor const across = (x.view({n, 1, 1}) + x.view({1, n, 1})).remainder(n);
    at::Tensor const nu =
        at::where(across < n / 2, 1.0, 4.0).to(at::kDouble).expand({n, n, 2}).contiguous();
    auto const result = periodic_tensor({{n, n, 2}, {1.0, 1.0, 1.0}}, nu, kTight);
    double const error = result.principal_values[0] - harmonic;
    EXPECT_GT(error, 0.0) << n;
    EXPECT_LT(error, 0.75 * last) << n;
    last = error;
    for (int k : {1, 2}) EXPECT_NEAR(result.principal_values[k], arithmetic, kAgreement) << n;
    auto const& across_layers = result.principal_directions[0];
    EXPECT_NEAR(across_layers[0], std::sqrt(0.5), kAgreement);
    EXPECT_NEAR(across_layers[1], std::sqrt(0.5), kAgreement);
    EXPECT_NEAR(result.matrix[0][1], (harmonic + error - arithmetic) / 2.0, kAgreement);
  }
}

// However early a solve stops, and its bound of what is left holds.
TEST(PeriodicTensor, IsAnUpperBoundThatTellsWhatIsLeft) {
  at::manual_seed(11);
  at::Tensor const nu = random_voxels(kSmall, 1).pow(3.0);
  at::Tensor const exact = tensor_of(kSmall, nu);
  double last = 0.0;
  for (int const iterations : {1, 3, 8}) {
    auto const result =
        periodic_tensor(kSmall, nu, {.tolerance = 1e-12, .max_iterations = iterations});
    EXPECT_FALSE(result.converged);
    EXPECT_EQ(result.iterations[1], iterations);
    // Generalised eigenvalues of what is left, relative to the discrete equations' tensor.
    at::Tensor const l = at::linalg_cholesky(exact);
    at::Tensor const half = at::linalg_solve(l, matrix_of(result) - exact);
    at::Tensor const shares = at::linalg_eigvalsh(at::linalg_solve(l, half.t().contiguous()));
    EXPECT_GT(shares.min().item<double>(), -kAgreement);
    EXPECT_GE(result.error, shares.max().item<double>());
    if (last > 0.0) {
      EXPECT_LT(shares.max().item<double>(), last);
    }
    last = shares.max().item<double>();
  }
}

TEST(PeriodicTensor, OfOneValueIsThat) {
  auto const result = periodic_tensor(kSmall, at::full({5, 4, 6}, 3e-20, at::kDouble));
  EXPECT_TRUE(result.converged);
  EXPECT_NEAR(result.principal_values[0] / 3e-20, 1.0, kAgreement);
  EXPECT_NEAR(result.principal_values[2] / 3e-20, 1.0, kAgreement);
}

TEST(PeriodicTensor, RefusesWhatDoesNotFit) {
  at::Tensor const nu = at::ones({5, 4, 6}, at::kDouble);
  EXPECT_THROW((void)periodic_tensor(Grid3::cube(4), nu), Error);
  EXPECT_THROW((void)periodic_tensor(kSmall, nu, {.tolerance = 0.0}), Error);
  nu[1][1][1] = 0.0;
  EXPECT_THROW((void)periodic_tensor(kSmall, nu), Error);
  EXPECT_THROW((void)solve_multigrid_pcg(periodic_problem(kSmall),
                                         at::ones(kSmall.voxel_shape(), at::kDouble)),
               Error);
}

}  // namespace periodic_tensor_test
}  // namespace voxcycle
