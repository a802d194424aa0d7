// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/voxel_flux.hpp"

#include "voxcycle/core/error.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace voxel_flux_test {

// Sums of a few numbers of size one.
constexpr double kRounding = 1e-13;

/// x y z + 2 x - 3 y + 5 z, which trilinear elements hold.
at::Tensor trilinear(Grid3 const& grid) {
  std::vector<at::Tensor> places;
  for (int axis = 0; axis < 3; ++axis) {
    places.push_back(at::arange(grid.nodes(axis), at::kDouble).mul(grid.spacing(axis)));
  }
  auto const p = at::meshgrid(places, "ij");
  return p[0] * p[1] * p[2] + 2 * p[0] - 3 * p[1] + 5 * p[2];
}

TEST(VoxelFlux, OfATrilinearFunctionIsItsGradientTimesNu) {
  Grid3 const grid{{2, 3, 4}, {1.0, 6.0, 2.0}};
  auto nu = at::arange(24, at::kDouble).view({2, 3, 4});
  auto const flux = voxel_flux(trilinear(grid), nu, grid);
  ASSERT_EQ(flux.sizes(), at::IntArrayRef({2, 3, 4, 3}));
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) {
      for (std::int64_t k = 0; k < 4; ++k) {
        double const x = (static_cast<double>(i) + 0.5) * 0.5,
                     y = (static_cast<double>(j) + 0.5) * 2,
                     z = (static_cast<double>(k) + 0.5) * 0.5;
        double const value = nu[i][j][k].item<double>();
        double const expected[] = {value * (y * z + 2), value * (x * z - 3), value * (x * y + 5)};
        for (int c = 0; c < 3; ++c) {
          EXPECT_NEAR(flux[i][j][k][c].item<double>(), expected[c], kRounding * (1 + value * 20));
        }
      }
    }
  }
}

TEST(VoxelFlux, IsZeroWhereNothingConducts) {
  Grid3 const grid = Grid3::cube(2);
  auto u = trilinear(grid);
  u[0][0][0] = std::numeric_limits<double>::quiet_NaN();  // as solve leaves it in pores
  auto nu = at::ones({2, 2, 2}, at::kDouble);
  nu[0][0][0] = 0.0;
  auto const flux = voxel_flux(u, nu, grid);
  EXPECT_EQ(flux[0][0][0].abs().sum().item<double>(), 0.0);
  EXPECT_TRUE(flux.isfinite().all().item<bool>());
  EXPECT_THROW(voxel_flux(nu, nu, grid), Error);
}

}  // namespace voxel_flux_test
}  // namespace voxcycle
