// SPDX-License-Identifier: BSD-3-Clause
// What GPUs do between grids, against the loops of the CPU.
#include "poisson/multigrid/transfer_points.hpp"

#include "voxcycle/poisson/boundary.hpp"

#include "multigrid_points.hpp"
#include "poisson/multigrid/black_box.hpp"
#include "poisson/multigrid/transfer.hpp"
#include "poisson/operator/level_operator.hpp"
#include "q1_elements.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace transfer_points_test {

using testing::node_size;
using testing::play;
using testing::random_nodes;
using testing::random_voxels;
using testing::relative_difference;

// Sums of at most 27 products in float64.
constexpr double rounding = 1e-14;

/// A grid, and the coarse one where nu is averaged: half as many voxels, rounded up or down.
struct Grids {
  Grid3 fine, coarse;
};

FieldSize voxel_size(Grid3 const& grid) {
  return {static_cast<int>(grid.voxels[0]), static_cast<int>(grid.voxels[1]),
          static_cast<int>(grid.voxels[2])};
}

class TransferPoints : public ::testing::TestWithParam<Grids> {
 protected:
  static constexpr std::int64_t batch = 2;
  Grid3 const fine_ = GetParam().fine, coarse_ = GetParam().coarse;
  FieldSize const fine_size_ = node_size(fine_), coarse_size_ = node_size(coarse_);
  at::Tensor const nu_ = random_voxels(fine_, batch);
  at::Tensor const r_ = random_nodes(fine_, batch);
  at::Tensor const e_ = random_nodes(coarse_, batch);
};

TEST_P(TransferPoints, RestrictAsTheLoops) {
  at::Tensor const expected = restrict_nodes(r_, coarse_), found = at::empty_like(expected);
  play(found.numel(),
       RestrictJob<double>{r_.const_data_ptr<double>(), found.mutable_data_ptr<double>(),
                           fine_size_, coarse_size_});
  EXPECT_LT(relative_difference(found, expected), rounding);
}

TEST_P(TransferPoints, ProlongAsTheLoops) {
  at::Tensor found = r_.clone(), expected = r_.clone();
  play(found.numel(),
       ProlongJob<double>{e_.const_data_ptr<double>(), found.mutable_data_ptr<double>(), fine_size_,
                          coarse_size_});
  add_prolonged(expected, e_);
  EXPECT_LT(relative_difference(found, expected), rounding);
}

TEST_P(TransferPoints, AverageAsTheLoops) {
  at::Tensor const expected = average_voxels(nu_, coarse_), found = at::empty_like(expected);
  play(found.numel(),
       AverageJob<double>{nu_.const_data_ptr<double>(), found.mutable_data_ptr<double>(),
                          voxel_size(fine_), voxel_size(coarse_)});
  EXPECT_LT(relative_difference(found, expected), rounding);
}

TEST_P(TransferPoints, RestrictAndProlongByWeightsAsTheLoops) {
  GridCoarsening coarsening = coarsening_of(regular_axes(fine_));
  for (bool const joins : {false, true}) {
    for (auto& axis : coarsening.axes) axis.joins = joins && axis.points % 2 == 0;
    at::Tensor const weights = black_box_weights(*voxel_stencil(fine_, nu_), coarsening);
    auto const transfer = black_box_transfer(fine_, weights);
    auto const* const values = weights.const_data_ptr<double>();
    FieldSize const coarse{coarsening[0].coarse(), coarsening[1].coarse(), coarsening[2].coarse()};
    at::Tensor const restricted = transfer->restricted(r_), found = at::empty_like(restricted);
    ASSERT_EQ(found.numel(), batch * coarse.count());
    play(found.numel(),
         WeightedRestrictJob<double>{values, r_.const_data_ptr<double>(),
                                     found.mutable_data_ptr<double>(), fine_size_, coarse});
    EXPECT_LT(relative_difference(found, restricted), rounding);
    at::Tensor const e = at::rand_like(restricted);
    at::Tensor prolonged = r_.clone(), expected = r_.clone();
    play(prolonged.numel(),
         WeightedProlongJob<double>{values, e.const_data_ptr<double>(),
                                    prolonged.mutable_data_ptr<double>(), fine_size_, coarse});
    transfer->add_prolonged(expected, e);
    EXPECT_LT(relative_difference(prolonged, expected), rounding);
  }
}

INSTANTIATE_TEST_SUITE_P(Grids, TransferPoints,
                         ::testing::Values(Grids{{{8, 4, 12}, {1.0, 0.5, 1.5}}, {{4, 2, 6}}},
                                           Grids{{{7, 5, 11}, {0.7, 0.5, 1.1}}, {{4, 3, 6}}},
                                           Grids{{{7, 5, 11}, {0.7, 0.5, 1.1}}, {{3, 2, 5}}},
                                           Grids{{{6, 3, 11}, {0.6, 0.3, 1.1}}, {{3, 2, 5}}}));

}  // namespace transfer_points_test
}  // namespace voxcycle
