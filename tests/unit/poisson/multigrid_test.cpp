// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/multigrid.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"

#include <string>
#include <tuple>

#include "poisson/multigrid/transfer.hpp"
#include "poisson/operator/level_operator.hpp"
#include "q1_elements.hpp"
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

using testing::dense_stiffness;
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

TEST(Transfer, RestrictionIsTheTransposeOfProlongation) {
  Grid3 const fine{{4, 6, 10}, {1.0, 1.0, 1.0}};
  at::Tensor const r = random_nodes(fine, 2), e = random_nodes(fine.coarsened(), 2);
  at::Tensor prolonged = at::zeros_like(r);
  add_prolonged(prolonged, e, fine);
  EXPECT_NEAR(product(restrict_nodes(r, fine), e), product(r, prolonged), 100 * rounding);
}

TEST(Transfer, ProlongationReproducesTrilinearFields) {
  Grid3 const fine{{4, 2, 6}, {1.0, 1.0, 1.0}};
  auto field = [](Grid3 const& grid) {
    at::Tensor const x = at::linspace(0.0, 1.0, grid.nodes(0), at::kDouble).view({-1, 1, 1});
    at::Tensor const y = at::linspace(0.0, 1.0, grid.nodes(1), at::kDouble).view({-1, 1});
    at::Tensor const z = at::linspace(0.0, 1.0, grid.nodes(2), at::kDouble);
    return (1.0 + 2.0 * x - y + x * y * z).view(grid.node_shape());
  };
  at::Tensor x = at::ones_like(field(fine));
  add_prolonged(x, field(fine.coarsened()), fine);
  EXPECT_LT(relative_difference(x, field(fine) + 1.0), rounding);
}

TEST(Transfer, AverageKeepsTheMean) {
  Grid3 const fine{{4, 6, 2}, {1.0, 1.0, 1.0}};
  at::Tensor const nu = random_voxels(fine, 2);
  EXPECT_LT(relative_difference(average_voxels(nu, fine), at::avg_pool3d(nu, 2)), rounding);
}

// Black box multigrid's way from a grid to the next coarser one.
Coarsening black_box_of(Grid3 const& fine, at::Tensor const& nu) {
  return make_voxel_operator(fine, nu)->coarsened(CoarseOperator::black_box);
}

at::Tensor prolonged(Transfer const& transfer, at::Tensor const& e, Grid3 const& fine) {
  at::Tensor x = at::zeros(fine.node_shape(e.size(0)), at::kDouble);
  transfer.add_prolonged(x, e);
  return x;
}

TEST(BlackBoxTransfer, RestrictionIsTheTransposeOfProlongation) {
  Grid3 const fine{{4, 6, 10}, {1.0, 0.7, 1.9}};
  auto const way = black_box_of(fine, random_voxels(fine, 2).pow_(6));
  at::Tensor const r = random_nodes(fine, 2), e = random_nodes(fine.coarsened(), 2);
  EXPECT_NEAR(product(way.transfer->restricted(r), e),
              product(r, prolonged(*way.transfer, e, fine)), 100 * rounding);
}

TEST(BlackBoxTransfer, IsTrilinearForConstantNu) {
  Grid3 const fine{{4, 6, 10}, {1.0, 0.7, 1.9}};
  auto const way = black_box_of(fine, at::full({1, 1, 4, 6, 10}, 3.0, at::kDouble));
  at::Tensor const e = random_nodes(fine.coarsened(), 1);
  EXPECT_LT(relative_difference(prolonged(*way.transfer, e, fine),
                                prolonged(*trilinear_transfer(fine), e, fine)),
            rounding);
}

TEST(BlackBoxTransfer, ReproducesSolutionsInLayersAndConstants) {
  Grid3 const fine{{8, 8, 8}, {1.0, 0.7, 1.9}};
  for (int axis = 0; axis < 3; ++axis) {
    // The flux through layers is one constant, so that u grows by the resistance of each layer.
    std::int64_t shape[5] = {1, 1, 1, 1, 1};
    shape[2 + axis] = 8;
    at::Tensor const layers = at::pow(10.0, at::rand({8}, at::kDouble) * 6.0 - 3.0);
    at::Tensor const nu = layers.view(shape).expand({1, 1, 8, 8, 8}).contiguous();
    shape[2 + axis] = 9;
    at::Tensor const heights =
        at::cat({at::zeros({1}, at::kDouble), layers.reciprocal().cumsum(0)});
    at::Tensor const u = heights.view(shape).expand({1, 1, 9, 9, 9}).contiguous();
    at::Tensor const coarse_u =
        u.slice(2, 0, 9, 2).slice(3, 0, 9, 2).slice(4, 0, 9, 2).contiguous();
    auto const way = black_box_of(fine, nu);
    EXPECT_LT(relative_difference(prolonged(*way.transfer, coarse_u, fine), u), rounding) << axis;
    auto const rough = black_box_of(fine, random_voxels(fine, 1).pow_(8));
    EXPECT_LT(relative_difference(prolonged(*rough.transfer, at::ones_like(coarse_u), fine),
                                  at::ones_like(u)),
              rounding);
  }
}

TEST(LevelOperator, BlackBoxIsTheTripleProduct) {
  Grid3 const fine{{8, 4, 12}, {1.0, 0.7, 1.9}};
  at::Tensor const nu = random_voxels(fine, 2).pow_(4);
  auto const once = black_box_of(fine, nu);
  Grid3 const middle = fine.coarsened(), coarse = middle.coarsened();
  auto const twice = once.op->coarsened(CoarseOperator::black_box);
  ASSERT_EQ(twice.op->grid(), coarse);
  at::Tensor const e = random_nodes(coarse, 2);
  at::Tensor const on_middle = prolonged(*twice.transfer, e, middle);
  at::Tensor const on_fine = prolonged(*once.transfer, on_middle, fine);
  at::Tensor const expected = once.transfer->restricted(apply_stiffness(on_fine, nu, fine));
  EXPECT_LT(relative_difference(once.op->apply(on_middle), expected), rounding);
  EXPECT_LT(relative_difference(twice.op->apply(e), twice.transfer->restricted(expected)),
            rounding);
}

TEST(LevelOperator, TopAndDiagonalBoundTheSpectrum) {
  at::manual_seed(5);
  Grid3 const fine{{4, 4, 6}, {1.0, 0.7, 1.9}};
  at::Tensor const nu = random_voxels(fine, 1).pow_(4);
  auto const voxel = make_voxel_operator(fine, nu);
  auto const black_box = voxel->coarsened(CoarseOperator::black_box).op;
  for (LevelOperator const* op : {voxel.get(), black_box.get()}) {
    std::int64_t const nodes = op->grid().node_count();
    at::Tensor matrix = at::empty({nodes, nodes}, at::kDouble);
    for (std::int64_t j = 0; j < nodes; ++j) {
      at::Tensor micro_batch = at::zeros_like(op->diagonal());
      micro_batch.view({nodes})[j] = 1.0;
      matrix.select(1, j).copy_(op->apply(micro_batch).flatten());
    }
    EXPECT_LT(relative_difference(op->diagonal().flatten(), matrix.diagonal()), rounding);
    at::Tensor const scale = matrix.diagonal().rsqrt();
    double const largest =
        at::linalg_eigvalsh(matrix * scale * scale.unsqueeze(1)).max().item<double>();
    double const top = op->top().item<double>();
    EXPECT_LE(largest, top * (1.0 + rounding));
    EXPECT_GT(largest, 0.5 * top) << "a loose bound wastes smoothing";
  }
  auto const cubic = make_voxel_operator(Grid3::cube(2), at::ones({1, 1, 2, 2, 2}));
  EXPECT_NEAR(cubic->top().item<double>(), 1.5, rounding);
}

/// Of one cycle for a nu that varies twentyfold on cubic voxels.
void expect_symmetry_and_contraction(Grid3 const& grid, std::string const& faces,
                                     CoarseOperator coarse, int levels) {
  Boundary const boundary = parse_boundary(faces);
  at::Tensor const nu = random_voxels(grid, 1);
  MultigridOptions options;
  options.coarse = coarse;
  Multigrid const multigrid(grid, boundary, nu, options);
  ASSERT_EQ(multigrid.levels(), levels);

  at::Tensor const r = random_free_nodes(grid, boundary), s = random_free_nodes(grid, boundary);
  double const r_s = product(multigrid.cycle(r), s), s_r = product(multigrid.cycle(s), r);
  double const scale = std::sqrt(product(multigrid.cycle(r), r) * product(multigrid.cycle(s), s));
  EXPECT_NEAR(r_s, s_r, rounding * scale);

  // Errors shrink to less than a fifth in the energy norm.
  at::Tensor const mask = free_node_mask(grid, boundary, at::kDouble);
  EXPECT_EQ((multigrid.cycle(r) * (1.0 - mask)).abs().max().item<double>(), 0.0);
  at::Tensor error = random_free_nodes(grid, boundary);
  auto energy = [&] { return energy_and_gradient(error, nu, grid).energy.item<double>(); };
  for (int i = 0; i < 4; ++i) {
    double const before = energy();
    error -= multigrid.cycle(apply_stiffness(error, nu, grid) * mask);
    EXPECT_LT(energy(), 0.04 * before) << "cycle " << i;
  }
}

class MultigridOnFaces : public ::testing::TestWithParam<std::tuple<char const*, CoarseOperator>> {
};

TEST_P(MultigridOnFaces, CycleIsSymmetricAndContracts) {
  at::manual_seed(1);
  auto const [faces, coarse] = GetParam();
  expect_symmetry_and_contraction({{16, 8, 24}, {1.0, 0.5, 1.5}}, faces, coarse, 3);
}

TEST_P(MultigridOnFaces, CycleWithTooLargeACoarsestGridIsSymmetricAndContracts) {
  at::manual_seed(1);
  auto const [faces, coarse] = GetParam();
  expect_symmetry_and_contraction({{34, 18, 26}, {1.7, 0.9, 1.3}}, faces, coarse, 2);
  expect_symmetry_and_contraction({{17, 9, 13}, {1.7, 0.9, 1.3}}, faces, coarse, 1);
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
}

TEST(Multigrid, RefusesWhatItCannotDo) {
  Grid3 const grid = Grid3::cube(8);
  at::Tensor const nu = kl_sample(8);
  EXPECT_THROW(Multigrid(Grid3::cube(4), Boundary{}, nu), Error);
  EXPECT_THROW(Multigrid(grid, Boundary{}, nu, {0}), Error);
  EXPECT_THROW(Multigrid(grid, Boundary{}, nu, {2, CoarseOperator::average, at::kHalf}), Error);
  EXPECT_THROW(Multigrid(grid, Boundary{}, nu).cycle(nu), Error);
}

}  // namespace
}  // namespace voxcycle
