// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/multigrid/deflation.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/poisson/multigrid.hpp"

#include "q1_elements.hpp"
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace deflation_test {

using testing::random_nodes;
using testing::relative_difference;

constexpr double rounding = 1e-11;

Boundary const ends = parse_boundary("1, 0, flux, flux, flux, flux");
Boundary const insulated = parse_boundary("flux, flux, flux, flux, flux, flux");

struct Bodies {
  Grid3 grid;
  at::Tensor nu;    ///< two blocks a voxel apart, and one at the face x-, in random insulators
  at::Tensor z[2];  ///< indicators of the two
};

// Multigrid has two levels on this one; smaller ones it solves directly.
Grid3 const halved{{24, 20, 18}, {1.0, 1.0, 1.0}};

Bodies two_blocks(double contrast, Grid3 const& grid = {{12, 10, 9}, {1.0, 0.8, 0.7}}) {
  Bodies bodies{grid, at::rand(grid.voxel_shape(), at::kDouble).add_(0.5), {}};
  auto const fill = [](at::Tensor const& field, std::array<std::int64_t, 3> first,
                       std::array<std::int64_t, 3> size, double value) {
    at::Tensor part = field;
    for (int axis = 0; axis < 3; ++axis) part = part.narrow(2 + axis, first[axis], size[axis]);
    part.fill_(value);
  };
  fill(bodies.nu, {3, 2, 2}, {3, 4, 5}, contrast);
  fill(bodies.nu, {7, 3, 3}, {2, 2, 2}, 3 * contrast);
  fill(bodies.nu, {0, 7, 0}, {3, 2, 2}, contrast);
  bodies.z[0] = at::zeros(grid.node_shape(), at::kDouble);
  bodies.z[1] = at::zeros(grid.node_shape(), at::kDouble);
  fill(bodies.z[0], {3, 2, 2}, {4, 5, 6}, 1.0);
  fill(bodies.z[1], {7, 3, 3}, {3, 3, 3}, 1.0);
  return bodies;
}

double sum_of_products(at::Tensor const& a, at::Tensor const& b) {
  return (a * b).sum().item<double>();
}

TEST(Deflation, IsExactForConstantsInBodiesWhateverTheCycle) {
  at::manual_seed(1);
  for (double const contrast : {1e4, 1e8, 1e14}) {
    Bodies const bodies = two_blocks(contrast);
    auto const deflation = Deflation::of(bodies.grid, ends, bodies.nu);
    ASSERT_TRUE(deflation.has_value());
    EXPECT_EQ(deflation->bodies(), 2);
    at::Tensor const e = bodies.z[0] * 0.7 - bodies.z[1] * 1.3;
    at::Tensor const r = apply_stiffness(e, bodies.nu, bodies.grid);
    for (double const scale : {0.0, 5.0}) {
      at::Tensor const found = deflation->apply(r, [&](at::Tensor const& b) { return b * scale; });
      EXPECT_LT(relative_difference(found, e), rounding) << contrast;
    }
  }
}

TEST(Deflation, BodiesMayHaveManyRuns) {
  at::manual_seed(8);
  Grid3 const grid{{24, 24, 8}, {1.0, 1.0, 1.0}};
  at::Tensor nu = at::rand(grid.voxel_shape(), at::kDouble).add_(0.5);
  at::Tensor e = at::zeros(grid.node_shape(), at::kDouble);
  nu.narrow(2, 2, 20).narrow(3, 2, 20).narrow(4, 2, 3).fill_(1e6);
  e.narrow(2, 2, 21).narrow(3, 2, 21).narrow(4, 2, 4).fill_(0.7);
  nu.narrow(2, 10, 2).narrow(3, 10, 2).narrow(4, 6, 1).fill_(1e6);
  e.narrow(2, 10, 3).narrow(3, 10, 3).narrow(4, 6, 2).fill_(-1.1);
  auto const deflation = Deflation::of(grid, ends, nu);
  EXPECT_EQ(deflation->bodies(), 2);
  at::Tensor const found =
      deflation->apply(apply_stiffness(e, nu, grid), [](at::Tensor const& b) { return b * 0.0; });
  EXPECT_LT(relative_difference(found, e), rounding);
}

// Whatever the contrast: sums of K times a field over a body are those of its surroundings.
TEST(Deflation, TheCycleSeesNothingOfTheBodies) {
  at::manual_seed(2);
  for (double const contrast : {1e4, 1e9, 1e14}) {
    Bodies const bodies = two_blocks(contrast);
    auto const deflation = Deflation::of(bodies.grid, ends, bodies.nu);
    at::Tensor const r = random_nodes(bodies.grid, 1);
    at::Tensor const after = deflation->apply(r, [&](at::Tensor const& b) {
      for (auto const& z : bodies.z) {
        EXPECT_NEAR(sum_of_products(z, b), 0.0, rounding * sum_of_products(z, b.abs()));
      }
      return random_nodes(bodies.grid, 1);
    });
    // And what it finds is corrected for them: r - K after sums to zero in each.
    at::Tensor const surroundings = at::where(bodies.nu < contrast, bodies.nu, 0.0);
    at::Tensor const rest = r - apply_stiffness(after, surroundings, bodies.grid);
    for (auto const& z : bodies.z) {
      EXPECT_NEAR(sum_of_products(z, rest), 0.0, rounding * sum_of_products(z, rest.abs()))
          << contrast;
    }
  }
}

TEST(DeflatedMultigrid, IsSymmetricAndPositive) {
  at::manual_seed(3);
  Bodies const bodies = two_blocks(1e5, halved);
  at::Tensor const mask = free_node_mask(bodies.grid, ends, at::kDouble);
  Multigrid const multigrid(bodies.grid, ends, bodies.nu, {.deflate_bodies = true});
  EXPECT_EQ(multigrid.bodies(), 2);
  at::Tensor const a = random_nodes(bodies.grid, 1) * mask;
  at::Tensor const b = random_nodes(bodies.grid, 1) * mask;
  at::Tensor const of_a = multigrid.cycle(a), of_b = multigrid.cycle(b);
  EXPECT_NEAR(sum_of_products(b, of_a), sum_of_products(a, of_b),
              rounding * sum_of_products(a, of_a));
  EXPECT_GT(sum_of_products(a, of_a), 0.0);
  EXPECT_EQ((of_a * (1.0 - mask)).abs().max().item<double>(), 0.0);
}

TEST(DeflatedMultigrid, DirichletValuesOfTheResidualDoNotMatter) {
  at::manual_seed(4);
  Bodies const bodies = two_blocks(1e5, halved);
  at::Tensor const mask = free_node_mask(bodies.grid, ends, at::kDouble);
  Multigrid const multigrid(bodies.grid, ends, bodies.nu, {.deflate_bodies = true});
  at::Tensor const r = random_nodes(bodies.grid, 1);
  EXPECT_TRUE(at::equal(multigrid.cycle(r), multigrid.cycle(r * mask)));
  EXPECT_TRUE(at::equal(multigrid.full_cycle(r), multigrid.full_cycle(r * mask)));
}

TEST(DeflatedMultigrid, SameBitsForAnyNumberOfThreads) {
  at::manual_seed(5);
  Bodies const bodies = two_blocks(1e5, halved);
  at::Tensor const r = random_nodes(bodies.grid, 1);
  int const threads = at::get_num_threads();
  std::vector<at::Tensor> found;
  for (int const count : {1, 3}) {
    at::set_num_threads(count);
    Multigrid const multigrid(bodies.grid, ends, bodies.nu, {.deflate_bodies = true});
    found.push_back(multigrid.cycle(r));
  }
  at::set_num_threads(threads);
  EXPECT_TRUE(at::equal(found[0], found[1]));
}

TEST(DeflatedMultigrid, IsPlainMultigridWhereThereAreNoBodies) {
  at::manual_seed(6);
  Grid3 const grid = Grid3::cube(8);
  at::Tensor nu = at::rand(grid.voxel_shape(), at::kDouble).add_(0.5);
  at::Tensor const r = random_nodes(grid, 1);
  auto const expect_plain = [&] {
    Multigrid const plain(grid, ends, nu), deflated(grid, ends, nu, {.deflate_bodies = true});
    EXPECT_EQ(deflated.bodies(), 0);
    EXPECT_TRUE(at::equal(plain.cycle(r), deflated.cycle(r)));
  };
  expect_plain();
  nu.narrow(2, 0, 3).fill_(1e6);  // at a Dirichlet face
  expect_plain();
}

TEST(DeflatedMultigrid, ConstantsOfAnInsulatedBoxStayFree) {
  at::manual_seed(7);
  Bodies const bodies = two_blocks(1e6);
  // All nodes are in bodies, but for those between two halves: one of them is left out.
  at::Tensor halves = at::full_like(bodies.nu, 1e6);
  halves.narrow(2, 5, 1).fill_(1.0);
  for (at::Tensor const& nu : {bodies.nu, halves}) {
    Multigrid const multigrid(bodies.grid, insulated, nu, {.deflate_bodies = true});
    EXPECT_GT(multigrid.bodies(), 0);
    at::Tensor r = random_nodes(bodies.grid, 1);
    r = r - r.mean();
    at::Tensor const e = multigrid.cycle(r);
    EXPECT_TRUE(e.isfinite().all().item<bool>());
    EXPECT_GT(sum_of_products(r, e), 0.0);
  }
}

TEST(DeflatedMultigrid, IsOfOneSample) {
  Grid3 const grid = Grid3::cube(4);
  at::Tensor const nu = at::ones({2, 1, 4, 4, 4}, at::kDouble);
  EXPECT_THAT([&] { Multigrid(grid, ends, nu, {.deflate_bodies = true}); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("of one sample, not of 2")));
}

}  // namespace deflation_test
}  // namespace voxcycle
