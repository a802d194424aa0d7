// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/multigrid.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"

#include <string>
#include <tuple>

#include "q1_elements.hpp"
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace multigrid_test {

using testing::kl_sample;
using testing::random_nodes;
using testing::random_voxels;
using testing::relative_difference;

// Sums of a few hundred products in float64.
constexpr double rounding = 1e-12;
// A direct solve of condition number below 1e4 in float64.
constexpr double solved = 1e-10;
// About a hundred operations a node in float32 (unit roundoff 6e-8).
constexpr double float_rounding = 2e-5;

double product(at::Tensor const& a, at::Tensor const& b) {
  return (a * b).sum().item<double>();
}

at::Tensor random_free_nodes(Grid3 const& grid, Boundary const& boundary, std::int64_t batch = 1) {
  at::Tensor r = random_nodes(grid, batch) * free_node_mask(grid, boundary, at::kDouble);
  if (!boundary.has_dirichlet()) {
    r -= r.mean({1, 2, 3, 4}, /*keepdim=*/true);
  }
  return r;
}

// What cycles leave of the squared energy norm where all axes are even, and where some are odd:
// averages then leave out a plane of voxels at Dirichlet faces.
constexpr double left_of_even = 0.04, left_of_odd = 0.15;

/// Of one cycle for a nu that varies twentyfold on cubic voxels.
/// @return the number of grids
int expect_symmetry_and_contraction(Grid3 const& grid, std::string const& faces,
                                    CoarseOperator coarse, double left) {
  Boundary const boundary = parse_boundary(faces);
  at::Tensor const nu = random_voxels(grid, 1);
  MultigridOptions options;
  options.coarse = coarse;
  Multigrid const multigrid(grid, boundary, nu, options);

  at::Tensor const r = random_free_nodes(grid, boundary), s = random_free_nodes(grid, boundary);
  double const r_s = product(multigrid.cycle(r), s), s_r = product(multigrid.cycle(s), r);
  double const scale = std::sqrt(product(multigrid.cycle(r), r) * product(multigrid.cycle(s), s));
  EXPECT_NEAR(r_s, s_r, rounding * scale);

  at::Tensor const mask = free_node_mask(grid, boundary, at::kDouble);
  EXPECT_EQ((multigrid.cycle(r) * (1.0 - mask)).abs().max().item<double>(), 0.0);
  at::Tensor error = random_free_nodes(grid, boundary);
  auto energy = [&] { return energy_and_gradient(error, nu, grid).energy.item<double>(); };
  for (int i = 0; i < 4; ++i) {
    double const before = energy();
    error -= multigrid.cycle(apply_stiffness(error, nu, grid) * mask);
    EXPECT_LT(energy(), left * before) << "cycle " << i;
  }
  return multigrid.levels();
}

class MultigridOnFaces : public ::testing::TestWithParam<std::tuple<char const*, CoarseOperator>> {
};

TEST_P(MultigridOnFaces, CycleIsSymmetricAndContracts) {
  at::manual_seed(1);
  auto const [faces, coarse] = GetParam();
  auto const levels = [&](Grid3 const& grid) {
    return expect_symmetry_and_contraction(grid, faces, coarse, left_of_even);
  };
  EXPECT_EQ(levels({{16, 8, 24}, {1.0, 0.5, 1.5}}), 3);
  EXPECT_EQ(levels({{34, 18, 26}, {1.7, 0.9, 1.3}}), 2);
  EXPECT_EQ(levels({{17, 9, 13}, {1.7, 0.9, 1.3}}), 1);
}

TEST_P(MultigridOnFaces, CycleOnOddGridsIsSymmetricAndContracts) {
  at::manual_seed(1);
  auto const [faces, coarse] = GetParam();
  auto const levels = [&](Grid3 const& grid) {
    return expect_symmetry_and_contraction(grid, faces, coarse, left_of_odd);
  };
  EXPECT_GT(levels({{29, 11, 13}, {2.9, 1.1, 1.3}}), 1);
  EXPECT_GT(levels({{2, 33, 35}, {0.1, 1.65, 1.75}}), 1);
}

INSTANTIATE_TEST_SUITE_P(
    Faces, MultigridOnFaces,
    ::testing::Combine(::testing::Values("1, 0, flux, flux, flux, flux",
                                         "flux, 2, -1, flux, flux, 0.5",
                                         "flux, flux, flux, flux, 1, flux", "1, 2, 3, 4, 5, 6",
                                         "flux, flux, flux, flux, flux, flux"),
                       ::testing::Values(CoarseOperator::average, CoarseOperator::black_box)));

TEST(Multigrid, MoreSmoothingContractsMore) {
  at::manual_seed(4);
  Grid3 const grid = Grid3::cube(16);
  at::Tensor const nu = kl_sample(16);
  at::Tensor const mask = free_node_mask(grid, Boundary{}, at::kDouble);
  at::Tensor const error = random_free_nodes(grid, Boundary{});
  double previous = energy_and_gradient(error, nu, grid).energy.item<double>();
  for (int steps = 1; steps <= 5; ++steps) {
    MultigridOptions options;
    options.smoothing_steps = steps;
    Multigrid const multigrid(grid, Boundary{}, nu, options);
    at::Tensor const left = error - multigrid.cycle(apply_stiffness(error, nu, grid) * mask);
    double const energy = energy_and_gradient(left, nu, grid).energy.item<double>();
    EXPECT_LT(energy, previous) << steps << " steps";
    previous = energy;
  }
}

TEST(Multigrid, IsExactOnOneGrid) {
  at::manual_seed(2);
  Grid3 const grid{{3, 4, 5}, {1.0, 0.7, 1.9}};
  at::Tensor const nu = random_voxels(grid, 2);
  for (char const* faces : {"1, 0, flux, flux, flux, flux", "flux, flux, flux, flux, flux, flux"}) {
    Boundary const boundary = parse_boundary(faces);
    Multigrid const multigrid(grid, boundary, nu);
    EXPECT_EQ(multigrid.levels(), 1);
    at::Tensor const r = random_free_nodes(grid, boundary, 2);
    at::Tensor const back =
        apply_stiffness(multigrid.cycle(r), nu, grid) * free_node_mask(grid, boundary, at::kDouble);
    EXPECT_LT(relative_difference(back, r), solved) << faces;
  }
}

// Between two insulators the conductor's one soft mode has 1e-7 of the stiffness of the others:
// less than what float32 rounds off the sums of a row.
TEST(Multigrid, OnOneGridSeesConductorsThatFloat) {
  at::manual_seed(6);
  Grid3 const grid = Grid3::cube(4);
  at::Tensor nu = random_voxels(grid, 1);
  nu.slice(2, 1, 3).mul_(1e7);
  MultigridOptions options;
  options.dtype = at::kDouble;
  Multigrid const fine(grid, Boundary{}, nu, options);
  options.dtype = at::kFloat;
  Multigrid const coarse(grid, Boundary{}, nu, options);
  at::Tensor const r = random_free_nodes(grid, Boundary{});
  EXPECT_LT(relative_difference(coarse.cycle(r), fine.cycle(r)), float_rounding);
}

TEST(Multigrid, IgnoresResidualsOnDirichletNodes) {
  Grid3 const grid = Grid3::cube(16);
  Multigrid const multigrid(grid, Boundary{}, kl_sample(16));
  at::Tensor const r = random_nodes(grid, 1);
  at::Tensor const masked = r * free_node_mask(grid, Boundary{}, at::kDouble);
  EXPECT_TRUE(at::equal(multigrid.cycle(r), multigrid.cycle(masked)));
}

void expect_bits_of_batch_and_threads(Grid3 const& grid) {
  int const threads = at::get_num_threads();
  for (CoarseOperator coarse : {CoarseOperator::average, CoarseOperator::black_box}) {
    MultigridOptions options;
    options.coarse = coarse;
    at::Tensor const nu = random_voxels(grid, 2).pow_(4), r = random_nodes(grid, 2);
    at::set_num_threads(1);
    at::Tensor const both = Multigrid(grid, Boundary{}, nu, options).cycle(r);
    at::set_num_threads(2);
    EXPECT_TRUE(at::equal(Multigrid(grid, Boundary{}, nu, options).cycle(r), both));
    for (int i = 0; i < 2; ++i) {
      at::Tensor const alone =
          Multigrid(grid, Boundary{}, nu.narrow(0, i, 1), options).cycle(r.narrow(0, i, 1));
      EXPECT_TRUE(at::equal(alone, both.narrow(0, i, 1)));
    }
  }
  at::set_num_threads(threads);
}

TEST(Multigrid, SampleOfBatchAndThreadsKeepTheBits) {
  at::manual_seed(3);
  expect_bits_of_batch_and_threads(Grid3::cube(32));
  expect_bits_of_batch_and_threads(Grid3::cube(34));
}

TEST(Multigrid, SinglePrecisionFollowsDouble) {
  Grid3 const grid = Grid3::cube(32);
  at::Tensor const nu = kl_sample(32), r = random_nodes(grid, 1);
  for (CoarseOperator coarse : {CoarseOperator::average, CoarseOperator::black_box}) {
    MultigridOptions options{2, coarse, at::kDouble};
    at::Tensor const expected = Multigrid(grid, Boundary{}, nu, options).cycle(r);
    options.dtype = at::kFloat;
    Multigrid const single(grid, Boundary{}, nu, options);
    EXPECT_EQ(single.cycle(r).scalar_type(), at::kDouble);
    EXPECT_EQ(single.cycle(r.to(at::kFloat)).scalar_type(), at::kFloat);
    EXPECT_LT(relative_difference(single.cycle(r), expected), float_rounding);
  }
}

TEST(Multigrid, FullCycleBeatsACycleFromZero) {
  at::manual_seed(6);
  Grid3 const grid{{32, 16, 24}, {1.0, 0.5, 1.5}};
  at::Tensor const nu = random_voxels(grid, 1);
  for (CoarseOperator coarse : {CoarseOperator::average, CoarseOperator::black_box}) {
    for (char const* faces : {"1, 0, flux, flux, flux, flux", "flux, 2, -1, flux, flux, 0.5",
                              "flux, flux, flux, flux, flux, flux"}) {
      Boundary const boundary = parse_boundary(faces);
      MultigridOptions options;
      options.coarse = coarse;
      Multigrid const multigrid(grid, boundary, nu, options);
      at::Tensor const mask = free_node_mask(grid, boundary, at::kDouble);
      // A smooth error: full multigrid is for those.
      at::Tensor const x = at::linspace(0.0, 1.0, 33, at::kDouble).view({1, 1, 33, 1, 1});
      at::Tensor const error =
          (at::sin(x * 3.0) * at::ones({1, 1, 33, 17, 25}, at::kDouble) * mask).contiguous();
      at::Tensor const r = apply_stiffness(error, nu, grid) * mask;
      auto energy = [&](at::Tensor const& e) {
        return energy_and_gradient(e, nu, grid).energy.item<double>();
      };
      double const one = energy(error - multigrid.cycle(r));
      double const full = energy(error - multigrid.full_cycle(r));
      EXPECT_LT(full, 0.04 * energy(error)) << faces;
      EXPECT_LT(full, one) << faces;
      // What r has on Dirichlet nodes never matters.
      at::Tensor const noise = random_nodes(grid, 1) * (1.0 - mask);
      EXPECT_TRUE(at::equal(multigrid.full_cycle(r + noise), multigrid.full_cycle(r))) << faces;
    }
  }
}

TEST(Multigrid, HalvesWhileItCan) {
  auto levels = [](Grid3 const& grid) {
    at::Tensor const nu = at::ones(grid.voxel_shape(), at::kDouble);
    return Multigrid(grid, Boundary{}, nu).levels();
  };
  EXPECT_EQ(levels(Grid3::cube(4)), 1);
  EXPECT_EQ(levels(Grid3::cube(32)), 4);
  EXPECT_EQ(levels({{24, 20, 16}, {1.0, 1.0, 1.0}}), 3);
  EXPECT_EQ(levels({{64, 8, 8}, {8.0, 1.0, 1.0}}), 3);
  EXPECT_EQ(levels(Grid3::cube(25)), 1);
  EXPECT_EQ(levels(Grid3::cube(50)), 2);
  EXPECT_EQ(levels(Grid3::cube(51)), 2);
  EXPECT_EQ(levels(Grid3::cube(101)), 3);
  EXPECT_EQ(levels({{1, 101, 101}, {0.01, 1.0, 1.0}}), 3);
}

TEST(Multigrid, RefusesWhatItCannotDo) {
  Grid3 const grid = Grid3::cube(8);
  at::Tensor const nu = kl_sample(8);
  EXPECT_THROW(Multigrid(Grid3::cube(4), Boundary{}, nu), Error);
  EXPECT_THROW(Multigrid(grid, Boundary{}, nu, {0}), Error);
  EXPECT_THROW(Multigrid(grid, Boundary{}, nu, {2, CoarseOperator::average, at::kHalf}), Error);
  EXPECT_THROW(Multigrid(grid, Boundary{}, nu).cycle(nu), Error);
}

}  // namespace multigrid_test
}  // namespace voxcycle
