// SPDX-License-Identifier: BSD-3-Clause
// What GPUs do between grids, against the loops of the CPU.
#include "poisson/multigrid/transfer_points.hpp"

#include "voxcycle/poisson/boundary.hpp"

#include "multigrid_points.hpp"
#include "poisson/multigrid/black_box.hpp"
#include "poisson/multigrid/transfer.hpp"
#include "q1_elements.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

using testing::node_size;
using testing::play;
using testing::random_nodes;
using testing::random_voxels;
using testing::relative_difference;

// Sums of at most 27 products in float64.
constexpr double rounding = 1e-14;

class TransferPoints : public ::testing::Test {
 protected:
  static constexpr std::int64_t batch = 2;
  Grid3 const fine_{{8, 4, 12}, {1.0, 0.5, 1.5}};
  Grid3 const coarse_ = fine_.coarsened();
  FieldSize const fine_size_ = node_size(fine_), coarse_size_ = node_size(coarse_);
  at::Tensor const nu_ = random_voxels(fine_, batch);
  at::Tensor const weights_ = black_box_weights(*voxel_stencil(fine_, nu_));
  at::Tensor const r_ = random_nodes(fine_, batch);
  at::Tensor const e_ = random_nodes(coarse_, batch);
};

TEST_F(TransferPoints, RestrictAsTheLoops) {
  at::Tensor const expected = restrict_nodes(r_, fine_), found = at::empty_like(expected);
  play(found.numel(),
       RestrictJob<double>{r_.const_data_ptr<double>(), found.mutable_data_ptr<double>(),
                           fine_size_, coarse_size_});
  EXPECT_LT(relative_difference(found, expected), rounding);
}

TEST_F(TransferPoints, ProlongAsTheLoops) {
  at::Tensor found = r_.clone(), expected = r_.clone();
  play(found.numel(),
       ProlongJob<double>{e_.const_data_ptr<double>(), found.mutable_data_ptr<double>(), fine_size_,
                          coarse_size_});
  add_prolonged(expected, e_, fine_);
  EXPECT_LT(relative_difference(found, expected), rounding);
}

TEST_F(TransferPoints, AverageAsTheLoops) {
  at::Tensor const expected = average_voxels(nu_, fine_), found = at::empty_like(expected);
  play(found.numel(),
       AverageJob<double>{
           nu_.const_data_ptr<double>(), found.mutable_data_ptr<double>(), {8, 4, 12}, {4, 2, 6}});
  EXPECT_LT(relative_difference(found, expected), rounding);
}

TEST_F(TransferPoints, RestrictAndProlongByWeightsAsTheLoops) {
  auto const transfer = black_box_transfer(fine_, weights_);
  auto const* const weights = weights_.const_data_ptr<double>();
  at::Tensor const restricted = transfer->restricted(r_), found = at::empty_like(restricted);
  play(found.numel(),
       WeightedRestrictJob<double>{weights, r_.const_data_ptr<double>(),
                                   found.mutable_data_ptr<double>(), fine_size_, coarse_size_});
  EXPECT_LT(relative_difference(found, restricted), rounding);
  at::Tensor prolonged = r_.clone(), expected = r_.clone();
  play(prolonged.numel(),
       WeightedProlongJob<double>{weights, e_.const_data_ptr<double>(),
                                  prolonged.mutable_data_ptr<double>(), fine_size_, coarse_size_});
  transfer->add_prolonged(expected, e_);
  EXPECT_LT(relative_difference(prolonged, expected), rounding);
}

}  // namespace
}  // namespace voxcycle
