// SPDX-License-Identifier: BSD-3-Clause
// Black box multigrid's set-up as GPUs do it, against that of the CPU.
#include "poisson/multigrid/black_box_points.hpp"

#include "voxcycle/poisson/boundary.hpp"

#include "multigrid_points.hpp"
#include "poisson/multigrid/black_box.hpp"
#include "poisson/operator/element_matrix.hpp"
#include "poisson/operator/stencil_points.hpp"
#include "q1_elements.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

using testing::node_size;
using testing::play;
using testing::random_voxels;
using testing::relative_difference;

// Sums of a few hundred products in float64.
constexpr double rounding = 1e-13;
constexpr std::int64_t batch = 2;

/// Weights and couplings of the coarse grid.
template <class Entries>
void expect_set_up(StencilSource const& source, Entries const& entries) {
  FieldSize const coarse = node_size(source.grid().coarsened());
  at::Tensor const expected = black_box_weights(source), weights = at::zeros_like(expected);
  black_box_weight_jobs(entries, batch, coarse, weights.mutable_data_ptr<double>(),
                        [](std::int64_t count, auto const& job) { play(count, job); });
  EXPECT_LT(relative_difference(weights, expected), rounding);

  at::Tensor const product = black_box_couplings(source, expected);
  at::Tensor const couplings = at::full_like(product, std::nan(""));
  play(batch * coarse.count(),
       BlackBoxCouplingJob<double, Entries>{entries, expected.const_data_ptr<double>(),
                                            couplings.mutable_data_ptr<double>(), coarse});
  EXPECT_LT(relative_difference(couplings, product), rounding);
}

class BlackBoxPoints : public ::testing::TestWithParam<double> {};

// Two grids down, with jumps of nu over eight orders of magnitude, too.
TEST_P(BlackBoxPoints, SetUpAsTheRows) {
  at::manual_seed(3);
  Grid3 const grid{{8, 4, 44}, {1.0, 0.5, 5.5}};
  at::Tensor const nu = at::exp(GetParam() * random_voxels(grid, batch).log());
  auto const source = voxel_stencil(grid, nu);
  expect_set_up(*source, VoxelEntries<double>(nu.const_data_ptr<double>(), node_size(grid),
                                              element_stiffness(grid)[0].data()));

  at::Tensor const couplings = black_box_couplings(*source, black_box_weights(*source));
  Grid3 const coarse = grid.coarsened();
  expect_set_up(*coupling_stencil(coarse, couplings),
                CouplingEntries<double>{couplings.const_data_ptr<double>(), node_size(coarse)});
}

// Couplings of both signs, for which many weights make no sense.
TEST(BlackBoxPointsOfAnyMatrix, SetUpAsTheRows) {
  at::manual_seed(4);
  Grid3 const grid{{8, 4, 44}, {1.0, 0.5, 5.5}};
  at::Tensor const couplings = at::zeros({batch, coupling_count, 9, 5, 45}, at::kDouble);
  for (int s = 0; s < coupling_count; ++s) {
    auto const [x, y, z] = offset_of(no_offset + 1 + s);
    // Those that leave the grid are zero.
    auto const inside = [](int o, std::int64_t n) {
      return at::indexing::Slice(o < 0 ? 1 : 0, o > 0 ? n - 1 : n);
    };
    couplings.index({at::indexing::Slice(), s, inside(x, 9), inside(y, 5), inside(z, 45)})
        .uniform_(-1.0, 0.6);
  }
  expect_set_up(*coupling_stencil(grid, couplings),
                CouplingEntries<double>{couplings.const_data_ptr<double>(), node_size(grid)});
}

INSTANTIATE_TEST_SUITE_P(Contrasts, BlackBoxPoints, ::testing::Values(1.0, 8.0));

}  // namespace
}  // namespace voxcycle
