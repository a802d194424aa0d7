// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/multigrid/lanczos.hpp"

#include "q1_elements.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace lanczos_test {

using testing::dense_stiffness;
using testing::random_voxels;

// Some hundred operations in float64.
constexpr double rounding = 1e-12;

/// Eigenvalues of D^-1 K by a dense solver, ascending.
at::Tensor spectrum(at::Tensor const& nu, Grid3 const& grid) {
  at::Tensor const k = dense_stiffness(nu.flatten(), grid);
  at::Tensor const scale = k.diagonal().rsqrt();
  return at::linalg_eigvalsh(k * scale * scale.unsqueeze(1));
}

double top_of(at::Tensor const& nu, Grid3 const& grid, int steps) {
  return lanczos_top(*make_voxel_operator(grid, nu), steps).item<double>();
}

TEST(Lanczos, NearsTheLargestEigenvalueFromBelow) {
  at::manual_seed(1);
  Grid3 const grid{{5, 6, 7}, {1.0, 0.7, 1.9}};
  at::Tensor const nu = random_voxels(grid, 1).pow_(4);
  double const largest = spectrum(nu, grid).max().item<double>();
  double before = 0.0;
  for (int steps : {1, 2, 4, 8, 12}) {
    double const top = top_of(nu, grid, steps);
    EXPECT_LE(top, largest * (1.0 + rounding)) << steps;
    EXPECT_GT(top, before) << steps;
    before = top;
  }
  EXPECT_GT(before, 0.97 * largest);
}

/// One node between voxels of its own: what few nodes have, few steps must find.
TEST(Lanczos, FindsAnEigenvalueOfASingleNode) {
  Grid3 const grid = Grid3::cube(8);
  at::Tensor const nu = at::ones({1, 1, 8, 8, 8}, at::kDouble);
  for (int x : {3, 4}) {
    for (int y : {3, 4}) {
      for (int z : {3, 4}) nu[0][0][x][y][z] = (x + y + z) % 2 == 0 ? 1e4 : 1e-4;
    }
  }
  double const largest = spectrum(nu, grid).max().item<double>();
  EXPECT_GT(top_of(nu, grid, 12), 0.97 * largest);
}

TEST(Lanczos, SamplesDoNotSeeEachOther) {
  at::manual_seed(2);
  Grid3 const grid = Grid3::cube(6);
  at::Tensor const nu = random_voxels(grid, 2).pow_(4);
  at::Tensor const both = lanczos_top(*make_voxel_operator(grid, nu), 6);
  for (int k : {0, 1}) {
    EXPECT_EQ(both[k].item<double>(), top_of(nu.narrow(0, k, 1), grid, 6));
  }
}

/// One voxel has eight eigenvalues: fewer steps than twelve exhaust the space, up to rounding.
TEST(Lanczos, EndsWhereTheSpaceIsExhausted) {
  Grid3 const grid = Grid3::cube(1);
  at::Tensor const nu = at::ones({1, 1, 1, 1, 1}, at::kDouble);
  double const largest = spectrum(nu, grid).max().item<double>();
  for (at::ScalarType const dtype : {at::kDouble, at::kFloat}) {
    double const top = top_of(nu.to(dtype), grid, 12);
    EXPECT_NEAR(top, largest, (dtype == at::kDouble ? rounding : 1e-6) * largest);
  }
}

/// K = I, for which the second vector is zero to the bit.
class Identity final : public LevelOperator {
 public:
  Identity() : LevelOperator(Grid3::cube(2)) {}
  at::Tensor apply(at::Tensor const& x) const override { return x.clone(); }
  at::Tensor diagonal() const override { return at::ones({1, 1, 3, 3, 3}, at::kDouble); }
  at::Tensor top() const override { return at::ones({1}, at::kDouble); }
  bool top_is_bound() const override { return true; }
  std::unique_ptr<StencilSource> entries() const override { return {}; }
  std::unique_ptr<LevelOperator> on(Space const&) const override { return {}; }
  Coarsening coarsened(CoarseOperator, Boundary const&) const override { return {}; }
};

TEST(Lanczos, StopsAtAVectorOfZeros) {
  EXPECT_NEAR(lanczos_top(Identity(), 12).item<double>(), 1.0, rounding);
}

}  // namespace lanczos_test
}  // namespace voxcycle
