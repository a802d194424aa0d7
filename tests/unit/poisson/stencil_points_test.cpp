// SPDX-License-Identifier: BSD-3-Clause
// Matrices of 27 entries a row as GPUs use them, against the rows of the CPU.
#include "poisson/operator/stencil_points.hpp"

#include "voxcycle/poisson/boundary.hpp"

#include "multigrid_points.hpp"
#include "poisson/multigrid/black_box.hpp"
#include "poisson/operator/element_matrix.hpp"
#include "poisson/operator/level_operator.hpp"
#include "q1_elements.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace stencil_points_test {

using testing::node_size;
using testing::play;
using testing::random_nodes;
using testing::random_voxels;
using testing::relative_difference;

// Sums of at most 27 products in float64.
constexpr double rounding = 1e-14;
constexpr std::int64_t batch = 2;

/// Every entry of every row, made at once or even and odd nodes after each other.
template <class Entries>
void expect_rows(StencilSource const& expected, Entries const& entries) {
  Grid3 const& grid = expected.grid();
  StencilRow row(grid.nodes(2) / 2), part(grid.nodes(2) / 2);
  std::vector<double> scratch;
  for (int sample = 0; sample < batch; ++sample) {
    for (int x = 0; x < grid.nodes(0); ++x) {
      for (int y = 0; y < grid.nodes(1); ++y) {
        expected.row(sample, x, y, RowNodes::all, row, scratch);
        for (auto nodes : {RowNodes::even, RowNodes::odd}) {
          expected.row(sample, x, y, nodes, part, scratch);
          for (int z = nodes == RowNodes::odd ? 1 : 0; z < grid.nodes(2); z += 2) {
            double found[offset_count];
            entries.row(sample, x, y, z, found);
            for (int t = 0; t < offset_count; ++t) {
              double const want = row.entry(t, z % 2)[z / 2];
              EXPECT_NEAR(found[t], want, rounding * (1.0 + std::abs(want)));
              EXPECT_EQ(part.entry(t, z % 2)[z / 2], want);
            }
          }
        }
      }
    }
  }
  for (int x : {-1, static_cast<int>(grid.nodes(0))}) {  // outside
    double found[offset_count];
    entries.row(batch - 1, x, 1, 1, found);
    for (double entry : found) EXPECT_EQ(entry, 0.0);
  }
}

TEST(StencilPoints, VoxelEntriesAreThoseOfTheRows) {
  for (std::int64_t const length : {22, 23}) {  // rows longer than what is added at once
    Grid3 const grid{{4, 2, length}, {1.0, 0.5, 5.5}};
    at::Tensor const nu = random_voxels(grid, batch);
    expect_rows(*voxel_stencil(grid, nu),
                VoxelEntries<double>(nu.const_data_ptr<double>(), node_size(grid),
                                     element_stiffness(grid)[0].data()));
  }
}

TEST(StencilPoints, CouplingsAreThoseOfTheRowsAndOfTheOperator) {
  for (std::int64_t const length : {44, 46}) {  // 23 and 24 coarse nodes
    Grid3 const fine{{8, 4, length}, {1.0, 0.5, 5.5}}, grid = fine.coarsened();
    at::Tensor const nu = random_voxels(fine, batch);
    auto const source = voxel_stencil(fine, nu);
    at::Tensor const couplings =
        black_box_couplings(*source, black_box_weights(*source, coarsening_of(regular_axes(fine))));
    CouplingEntries<double> const entries{couplings.const_data_ptr<double>(), node_size(grid)};
    expect_rows(*coupling_stencil(grid, couplings), entries);

    auto const op = coarsen_black_box(*make_voxel_operator(fine, nu), Boundary{}).op;
    at::Tensor const u = random_nodes(grid, batch), found = at::empty_like(u);
    play(u.numel(), ApplyCouplingsJob<double>{entries, u.const_data_ptr<double>(),
                                              found.mutable_data_ptr<double>()});
    EXPECT_LT(relative_difference(found, op->apply(u)), rounding);
    play(u.numel(), CouplingDiagonalJob<double>{entries, found.mutable_data_ptr<double>()});
    EXPECT_LT(relative_difference(found, op->diagonal()), rounding);
  }
}

}  // namespace stencil_points_test
}  // namespace voxcycle
