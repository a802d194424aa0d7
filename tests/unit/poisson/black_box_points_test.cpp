// SPDX-License-Identifier: BSD-3-Clause
// Black box multigrid's set-up as GPUs do it, against that of the CPU.
#include "poisson/multigrid/black_box_points.hpp"

#include "voxcycle/poisson/boundary.hpp"

#include "multigrid_points.hpp"
#include "poisson/multigrid/black_box.hpp"
#include "poisson/operator/element_matrix.hpp"
#include "poisson/operator/level_operator.hpp"
#include "poisson/operator/stencil_points.hpp"
#include "q1_elements.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace black_box_points_test {

using testing::node_size;
using testing::play;
using testing::random_voxels;
using testing::relative_difference;

// Sums of a few hundred products in float64.
constexpr double rounding = 1e-13;
constexpr std::int64_t batch = 2;

/// Weights and couplings of the coarse grid, and the couplings themselves.
template <class Entries>
at::Tensor expect_set_up(StencilSource const& source, Entries const& entries,
                         GridCoarsening const& coarsening) {
  FieldSize const coarse{coarsening[0].coarse(), coarsening[1].coarse(), coarsening[2].coarse()};
  at::Tensor const expected = black_box_weights(source, coarsening);
  // What lies on coarse nodes is set by common code.
  at::Tensor const weights = at::where(expected == 1.0, expected, 0.0);
  black_box_weight_jobs(entries, batch, coarsening, weights.mutable_data_ptr<double>(),
                        [](std::int64_t count, auto const& job) { play(count, job); });
  EXPECT_LT(relative_difference(weights, expected), rounding);

  at::Tensor const product = black_box_couplings(source, expected);
  at::Tensor const couplings = at::full_like(product, std::nan(""));
  play(batch * coarse.count(),
       BlackBoxCouplingJob<double, Entries>{entries, expected.const_data_ptr<double>(),
                                            couplings.mutable_data_ptr<double>(), coarse});
  EXPECT_LT(relative_difference(couplings, product), rounding);
  return couplings;
}

// Two grids down, with jumps of nu over eight orders of magnitude, too.
void expect_set_up_twice(Grid3 const& grid, double power) {
  at::Tensor const nu = at::exp(power * random_voxels(grid, batch).log());
  GridCoarsening const first = coarsening_of(regular_axes(grid));
  at::Tensor const couplings =
      expect_set_up(*voxel_stencil(grid, nu),
                    VoxelEntries<double>(nu.const_data_ptr<double>(), node_size(grid),
                                         element_stiffness(grid)[0].data()),
                    first);
  Grid3 coarse = grid;
  GridCoarsening second{};
  for (int axis = 0; axis < 3; ++axis) {
    coarse.voxels[axis] = first[axis].coarse() - 1;
    second.axes[axis].points = first[axis].coarse();
  }
  CouplingEntries<double> const entries{couplings.const_data_ptr<double>(), node_size(coarse)};
  for (bool const joins : {false, true}) {
    for (auto& axis : second.axes) axis.joins = joins && axis.points % 2 == 0;
    expect_set_up(*coupling_stencil(coarse, couplings), entries, second);
  }
}

TEST(BlackBoxPoints, SetUpAsTheRows) {
  at::manual_seed(3);
  for (double const power : {1.0, 8.0}) {
    expect_set_up_twice({{8, 4, 44}, {1.0, 0.5, 5.5}}, power);
    expect_set_up_twice({{7, 5, 41}, {1.0, 0.5, 5.5}}, power);
    expect_set_up_twice({{1, 9, 18}, {0.1, 0.9, 1.8}}, power);
    expect_set_up_twice({{9, 18, 1}, {0.9, 1.8, 0.1}}, power);
  }
}

// Couplings of both signs, for which many weights make no sense.
TEST(BlackBoxPoints, SetUpOfAnyMatrixAsTheRows) {
  at::manual_seed(4);
  for (std::int64_t const length : {44, 43}) {
    Grid3 const grid{{8, 4, length}, {1.0, 0.5, 5.5}};
    std::int64_t const nz = length + 1;
    at::Tensor const couplings = at::zeros({batch, coupling_count, 9, 5, nz}, at::kDouble);
    for (int s = 0; s < coupling_count; ++s) {
      auto const [x, y, z] = offset_of(no_offset + 1 + s);
      // Those that leave the grid are zero.
      auto const inside = [](int o, std::int64_t n) {
        return at::indexing::Slice(o < 0 ? 1 : 0, o > 0 ? n - 1 : n);
      };
      couplings.index({at::indexing::Slice(), s, inside(x, 9), inside(y, 5), inside(z, nz)})
          .uniform_(-1.0, 0.6);
    }
    expect_set_up(*coupling_stencil(grid, couplings),
                  CouplingEntries<double>{couplings.const_data_ptr<double>(), node_size(grid)},
                  coarsening_of(regular_axes(grid)));
  }
}

}  // namespace black_box_points_test
}  // namespace voxcycle
