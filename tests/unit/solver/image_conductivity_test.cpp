// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/image_conductivity.hpp"

#include "voxcycle/poisson/boundary.hpp"

#include <cmath>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace image_conductivity_test {

ConductivityOptions const kTight{.tolerance = 1e-10};
constexpr double kAgreement = 1e-8;

TEST(ImageConductivity, OfLayersIsExactAndSoIsWhatIsMadeOfIt) {
  // Three quarters of 2, a quarter of 0.5: series along x, parallel along the others.
  Grid3 const grid{{8, 4, 6}, {1.0, 1.0, 3.0}};
  at::Tensor nu = at::full({8, 4, 6}, 2.0, at::kDouble);
  nu.narrow(0, 1, 2).fill_(0.5);
  auto const figures = image_conductivity(grid, nu, {2, 0}, kTight);
  EXPECT_EQ(figures.conducting_fraction, 1.0);
  EXPECT_TRUE(figures.converged());
  ASSERT_EQ(figures.axes.size(), 2U);
  double const mean = 0.75 * 2.0 + 0.25 * 0.5, through[2] = {mean, 1.0 / (0.75 / 2.0 + 0.25 / 0.5)};
  for (std::size_t k = 0; k < 2; ++k) {
    auto const& one = figures.axes[k];
    EXPECT_EQ(one.axis, k == 0 ? 2 : 0);
    EXPECT_NEAR(one.conductivity.upper, through[k], kAgreement);
    EXPECT_NEAR(one.conductivity.lower, through[k], kAgreement);
    EXPECT_NEAR(one.effective_diffusivity, through[k] / 2.0, kAgreement);
    EXPECT_NEAR(one.formation_factor, 2.0 / through[k], kAgreement);
    EXPECT_NEAR(one.tortuosity_factor, mean / through[k], kAgreement);
    EXPECT_NEAR(one.tortuosity, std::sqrt(mean / through[k]), kAgreement);
    EXPECT_EQ(one.percolating_fraction, 1.0);
  }
}

// A bar along x, 2 of 4 x 4 voxels wide, which widens nowhere, and a voxel apart from it.
TEST(ImageConductivity, OfAStraightPoreWithADeadEnd) {
  Grid3 const grid{{6, 4, 4}, {6.0, 4.0, 4.0}};
  at::Tensor nu = at::zeros({6, 4, 4}, at::kDouble);
  nu.narrow(1, 0, 2).narrow(2, 1, 1).fill_(3.0);
  nu[5][3][3] = 3.0;
  auto const figures = image_conductivity(grid, nu, {0, 1}, kTight);
  EXPECT_DOUBLE_EQ(figures.conducting_fraction, 13.0 / 96.0);
  auto const& along = figures.axes[0];
  EXPECT_NEAR(along.conductivity.mean, 3.0 * 2 / 16, kAgreement);
  EXPECT_NEAR(along.percolating_fraction, 12.0 / 13.0, 1e-15);
  // eps D / D_eff, the dead voxel counting to eps.
  EXPECT_NEAR(along.tortuosity_factor, 13.0 / 12.0, kAgreement);
  auto const& across = figures.axes[1];
  EXPECT_FALSE(across.conductivity.percolates);
  EXPECT_EQ(across.conductivity.mean, 0.0);
  EXPECT_EQ(across.percolating_fraction, 0.0);
  EXPECT_TRUE(std::isinf(across.tortuosity_factor) && std::isinf(across.tortuosity) &&
              std::isinf(across.formation_factor));
}

// The flow of u = 1 - x in a field that is not uniform is known, and too large.
TEST(ImageConductivity, TakesASolutionThatIsKnown) {
  Grid3 const grid = Grid3::cube(8);
  at::manual_seed(1);
  at::Tensor nu = at::rand({8, 8, 8}, at::kDouble) + 0.5;
  at::Tensor const u = lift(grid, Boundary{}, at::kDouble).view({9, 9, 9});
  auto options = kTight;
  auto const solved = image_conductivity(grid, nu, {0, 1}, options);
  options.known = KnownSolution{.axis = 0, .u = u, .error_bound = 1e-6, .iterations = 7};
  auto const taken = image_conductivity(grid, nu, {0, 1}, options);
  // Q1's energy of a linear function is the mean of nu.
  EXPECT_NEAR(taken.axes[0].conductivity.upper, nu.mean().item<double>(), 1e-12);
  EXPECT_EQ(taken.axes[0].conductivity.iterations_upper, 7);
  EXPECT_EQ(taken.axes[1].conductivity.upper, solved.axes[1].conductivity.upper);
  // It is not good enough, or of another equation.
  options.known->error_bound = 1e-3;
  EXPECT_EQ(image_conductivity(grid, nu, {0}, options).axes[0].conductivity.upper,
            solved.axes[0].conductivity.upper);
  EXPECT_EQ(unit_axis(Boundary{}), 0);
  EXPECT_EQ(unit_axis(parse_boundary("flux, flux, flux, flux, 1, 0")), 2);
  EXPECT_EQ(unit_axis(parse_boundary("1, 0.5, flux, flux, flux, flux")), std::nullopt);
}

}  // namespace image_conductivity_test
}  // namespace voxcycle
