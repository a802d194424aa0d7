// SPDX-License-Identifier: BSD-3-Clause
// From a grid to the next coarser one: interpolation and the coarse matrix.
#include "poisson/operator/level_operator.hpp"

#include "voxcycle/poisson/energy.hpp"

#include <array>
#include <utility>

#include "poisson/multigrid/transfer.hpp"
#include "q1_elements.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace level_operator_test {

using testing::dense_stiffness;
using testing::random_nodes;
using testing::random_voxels;
using testing::relative_difference;

// Sums of a few hundred products in float64.
constexpr double rounding = 1e-12;

double product(at::Tensor const& a, at::Tensor const& b) {
  return (a * b).sum().item<double>();
}

void expect_transposes(Grid3 const& fine, Grid3 const& coarse) {
  at::Tensor const r = random_nodes(fine, 2), e = random_nodes(coarse, 2);
  at::Tensor prolonged = at::zeros_like(r);
  add_prolonged(prolonged, e);
  EXPECT_NEAR(product(restrict_nodes(r, coarse), e), product(r, prolonged), 100 * rounding);
}

TEST(Transfer, RestrictionIsTheTransposeOfProlongation) {
  expect_transposes({{4, 6, 10}}, {{2, 3, 5}});
  expect_transposes({{5, 7, 9}}, {{3, 4, 5}});
  expect_transposes({{5, 7, 9}}, {{2, 3, 4}});
}

TEST(Transfer, ProlongationReproducesTrilinearFields) {
  // Along z the last coarse voxel is half full, along y the last fine one is left out.
  Grid3 const fine{{4, 3, 5}}, coarse{{2, 1, 3}};
  auto field = [](Grid3 const& grid, double spacing) {
    auto const axis = [=](int number) {
      return at::arange(grid.nodes(number), at::kDouble).mul_(spacing);
    };
    at::Tensor const x = axis(0).view({-1, 1, 1}), y = axis(1).view({-1, 1}), z = axis(2);
    return (1.0 + 2.0 * x - y + x * y * z).view(grid.node_shape());
  };
  at::Tensor x = at::ones_like(field(fine, 1.0)), expected = field(fine, 1.0) + 1.0;
  expected.select(3, 3).fill_(1.0);  // beyond the last coarse node
  add_prolonged(x, field(coarse, 2.0));
  EXPECT_LT(relative_difference(x, expected), rounding);
}

TEST(Transfer, AverageKeepsTheMean) {
  at::Tensor const nu = random_voxels({{4, 6, 2}}, 2);
  EXPECT_LT(relative_difference(average_voxels(nu, {{2, 3, 1}}), at::avg_pool3d(nu, 2)), rounding);
  // Voxels that are half full, and one that is left out.
  at::Tensor const odd = random_voxels({{3, 5, 3}}, 2);
  at::Tensor const padded = at::constant_pad_nd(odd.narrow(3, 0, 4), {0, 1, 0, 0, 0, 1}, 0.0);
  EXPECT_LT(relative_difference(average_voxels(odd, {{2, 2, 2}}), at::avg_pool3d(padded, 2)),
            rounding);
}

// Black box multigrid's way from a grid to the next coarser one.
Coarsening black_box_of(Grid3 const& fine, at::Tensor const& nu) {
  return make_voxel_operator(fine, nu)->coarsened(CoarseOperator::black_box, Boundary{});
}

at::Tensor prolonged(Transfer const& transfer, at::Tensor const& e, Grid3 const& fine) {
  at::Tensor x = at::zeros(fine.node_shape(e.size(0)), at::kDouble);
  transfer.add_prolonged(x, e);
  return x;
}

TEST(BlackBoxTransfer, RestrictionIsTheTransposeOfProlongation) {
  for (Grid3 const& fine : {Grid3{{4, 6, 10}, {1.0, 0.7, 1.9}}, {{5, 7, 9}, {1.0, 0.7, 1.9}}}) {
    auto const way = black_box_of(fine, random_voxels(fine, 2).pow_(6));
    at::Tensor const r = random_nodes(fine, 2), e = random_nodes(way.op->grid(), 2);
    EXPECT_NEAR(product(way.transfer->restricted(r), e),
                product(r, prolonged(*way.transfer, e, fine)), 100 * rounding);
  }
}

// Matrices of grids below each other are P^T K P, and P keeps constants and coarse nodes' values,
// whatever the number of voxels. The first K is written from the definition.
TEST(BlackBoxTransfer, GivesTheTripleProductOfADenseMatrix) {
  at::manual_seed(8);
  for (auto const& voxels :
       {std::array<std::int64_t, 3>{3, 4, 5}, {5, 7, 6}, {1, 9, 2}, {1, 1, 7}}) {
    Grid3 fine{voxels, {0.1 * voxels[0], 0.1 * voxels[1], 0.1 * voxels[2]}};
    at::Tensor const nu = random_voxels(fine, 1).pow_(4);
    at::Tensor k = dense_stiffness(nu.flatten(), fine);
    double const scale = k.max().item<double>();
    auto op = make_voxel_operator(fine, nu);
    for (int halvings = 0; halvings < 3; ++halvings) {
      auto way = op->coarsened(CoarseOperator::black_box, Boundary{});
      Grid3 const coarse = way.op->grid();
      at::Tensor const identity = at::eye(coarse.node_count(), at::kDouble);
      at::Tensor p = at::empty({fine.node_count(), coarse.node_count()}, at::kDouble);
      at::Tensor found = at::empty_like(identity);
      for (std::int64_t j = 0; j < coarse.node_count(); ++j) {
        at::Tensor const column = identity[j].view(coarse.node_shape());
        p.select(1, j).copy_(prolonged(*way.transfer, column, fine).flatten());
        found[j] = way.op->apply(column).flatten();
      }
      EXPECT_LT(relative_difference(p.sum(1), at::ones({p.size(0)}, at::kDouble)), rounding);
      EXPECT_EQ(p.max().item<double>(), 1.0);
      EXPECT_EQ(std::get<0>(p.max(0)).min().item<double>(), 1.0) << "a coarse node lies nowhere";
      k = p.t().mm(k).mm(p);
      // On the last grids next to nothing is left of the first matrix.
      EXPECT_LT((found - k).abs().max().item<double>(), 10.0 * rounding * scale) << fine.name();
      op = std::move(way.op);
      fine = coarse;
    }
  }
}

TEST(BlackBoxTransfer, IsTrilinearForConstantNu) {
  Grid3 const fine{{4, 6, 10}, {1.0, 0.7, 1.9}};
  auto const way = black_box_of(fine, at::full({1, 1, 4, 6, 10}, 3.0, at::kDouble));
  at::Tensor const e = random_nodes(fine.coarsened(), 1);
  EXPECT_LT(relative_difference(prolonged(*way.transfer, e, fine),
                                prolonged(*trilinear_transfer(fine.coarsened()), e, fine)),
            rounding);
}

TEST(BlackBoxTransfer, ReproducesSolutionsInLayersAndConstants) {
  for (int axis_and_size = 0; axis_and_size < 6; ++axis_and_size) {
    int const axis = axis_and_size / 2;
    std::int64_t const n = 7 + axis_and_size % 2;
    Grid3 const fine{{n, n, n}, {1.0, 0.7, 1.9}};
    // The flux through layers is one constant, so that u grows by the resistance of each layer.
    std::int64_t shape[5] = {1, 1, 1, 1, 1};
    shape[2 + axis] = n;
    at::Tensor const layers = at::pow(10.0, at::rand({n}, at::kDouble) * 6.0 - 3.0);
    at::Tensor const nu = layers.view(shape).expand({1, 1, n, n, n}).contiguous();
    shape[2 + axis] = n + 1;
    at::Tensor const heights =
        at::cat({at::zeros({1}, at::kDouble), layers.reciprocal().cumsum(0)});
    at::Tensor const u = heights.view(shape).expand({1, 1, n + 1, n + 1, n + 1}).contiguous();
    at::Tensor const kept = n == 8 ? at::tensor({0, 2, 4, 6, 8}) : at::tensor({0, 2, 4, 6, 7});
    at::Tensor const coarse_u =
        u.index_select(2, kept).index_select(3, kept).index_select(4, kept).contiguous();
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
  auto const twice = once.op->coarsened(CoarseOperator::black_box, Boundary{});
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
  auto const black_box = voxel->coarsened(CoarseOperator::black_box, Boundary{}).op;
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

}  // namespace level_operator_test
}  // namespace voxcycle
