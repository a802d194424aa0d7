// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/spectrum.hpp"

#include "voxcycle/core/error.hpp"

#include <cmath>
#include <numbers>
#include <numeric>

#include "../poisson/q1_elements.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace spectrum_test {

using testing::boundary_of;
using testing::dense_stiffness;
using testing::random_nodes;

// Transforms and sums over a few hundred values in float64.
constexpr double rounding = 1e-12;

double sum(std::vector<double> const& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// e^T K(1) e from the dense matrix.
double dense_energy(Grid3 const& grid, at::Tensor const& e) {
  at::Tensor const ones = at::ones(grid.voxel_shape(), at::kDouble);
  at::Tensor const flat = e.flatten();
  return at::dot(flat, at::mv(dense_stiffness(ones, grid), flat)).item<double>();
}

/// The trapezoidal rule for the integral of e^2.
double nodal_sum(Grid3 const& grid, at::Tensor const& e) {
  at::Tensor squares = e[0][0] * e[0][0];
  double volume = 1.0;
  for (int axis = 0; axis < 3; ++axis) {
    squares.select(axis, 0).mul_(0.5);
    squares.select(axis, grid.voxels[axis]).mul_(0.5);
    volume *= grid.spacing(axis);
  }
  return squares.sum().item<double>() * volume;
}

class SpectrumOnFaces : public ::testing::TestWithParam<int> {};

TEST_P(SpectrumOnFaces, SumsToTheNodalSumAndTheEnergy) {
  at::manual_seed(GetParam());
  for (Grid3 const& grid : {Grid3{{3, 4, 5}, {1.0, 0.7, 1.9}}, Grid3{{6, 2, 3}, {0.5, 1.0, 1.0}}}) {
    Problem const problem{grid, boundary_of(GetParam())};
    at::Tensor const e =
        random_nodes(grid, 1) * free_node_mask(grid, problem.boundary, at::kDouble);
    SpectrumOfBox const box(problem);
    Spectrum const spectrum = box(e);
    EXPECT_EQ(spectrum.squares.size(), box.shells());
    double const squares = nodal_sum(grid, e);
    double const energy = dense_energy(grid, e);
    EXPECT_NEAR(sum(spectrum.squares), squares, rounding * squares);
    EXPECT_NEAR(sum(spectrum.energy), energy, rounding * energy);
  }
}

INSTANTIATE_TEST_SUITE_P(AllMixesOfFaces, SpectrumOnFaces, ::testing::Range(0, 64));

/// 3 sin(pi x kx) cos(pi y ky / ly) cos(pi z kz / lz): a mode of the default boundary, kx >= 1.
at::Tensor mode(Grid3 const& grid, double kx, double ky, double kz) {
  auto const along = [&](int axis, double k, bool sine) {
    at::Tensor const phase = at::arange(grid.nodes(axis), at::kDouble) * std::numbers::pi * k /
                             static_cast<double>(grid.voxels[axis]);
    return sine ? at::sin(phase) : at::cos(phase);
  };
  at::Tensor const plane = at::outer(along(0, kx, true), along(1, ky, false));
  return 3.0 * (plane.unsqueeze(-1) * along(2, kz, false)).unsqueeze(0).unsqueeze(0);
}

TEST(Spectrum, ASingleModeLandsInItsShellWithItsEnergy) {
  // Twice as long along y: k = 3 there is a wavenumber of 3 in units of pi / 2, 1 along x is 2.
  Grid3 const grid{{8, 8, 4}, {1.0, 2.0, 1.0}};
  struct Example {
    double kx, ky, kz;
    std::size_t shell;
  };
  for (auto const& [kx, ky, kz, shell] :
       {Example{1, 0, 0, 2}, Example{1, 3, 0, 4}, Example{2, 3, 2, 6}, Example{7, 8, 4, 18}}) {
    at::Tensor const e = mode(grid, kx, ky, kz);
    Spectrum const spectrum = SpectrumOfBox({grid, Boundary{}})(e);
    ASSERT_LT(shell, spectrum.squares.size());
    double const squares = nodal_sum(grid, e);
    double const energy = dense_energy(grid, e);
    EXPECT_NEAR(spectrum.energy[shell], energy, rounding * energy) << kx << ky << kz;
    EXPECT_NEAR(sum(spectrum.energy), energy, rounding * energy);
    for (std::size_t other = 0; other < spectrum.squares.size(); ++other) {
      double const expected = other == shell ? squares : 0.0;
      EXPECT_NEAR(spectrum.squares[other], expected, rounding * squares) << other;
    }
  }
}

TEST(Spectrum, LastShellIsThatOfTheHighestMode) {
  // sqrt(7^2 + 8^2 + 8^2) = 13.3 on a cube with Dirichlet faces along x.
  EXPECT_EQ(SpectrumOfBox({Grid3::cube(8), Boundary{}}).shells(), 14U);
}

TEST(Spectrum, IgnoresDirichletNodesAndABoxOfThem) {
  Problem const problem{Grid3::cube(4), Boundary{}};
  at::Tensor const e = random_nodes(problem.grid, 1);
  at::Tensor const free = e * free_node_mask(problem.grid, problem.boundary, at::kDouble);
  SpectrumOfBox const box(problem);
  EXPECT_EQ(box(e).energy, box(free).energy);
  Problem const closed{{{1, 1, 1}, {1.0, 1.0, 1.0}}, boundary_of(63)};
  EXPECT_TRUE(SpectrumOfBox(closed)(at::ones({1, 1, 2, 2, 2}, at::kDouble)).energy.empty());
}

TEST(Spectrum, RefusesFieldsThatDoNotFit) {
  SpectrumOfBox const box({Grid3::cube(4), Boundary{}});
  EXPECT_THROW(box(at::zeros({1, 1, 4, 4, 4}, at::kDouble)), Error);
  EXPECT_THROW(box(at::zeros({1, 1, 5, 5, 5}, at::kFloat)), Error);
}

}  // namespace spectrum_test
}  // namespace voxcycle
