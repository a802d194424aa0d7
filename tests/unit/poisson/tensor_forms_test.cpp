// SPDX-License-Identifier: BSD-3-Clause
// What GPUs do as torch operations against the loops of the CPU, on the CPU.
#include "../../../src/poisson/tensor_forms.hpp"

#include "../../../src/poisson/black_box.hpp"
#include "../../../src/poisson/level_operator.hpp"
#include "../../../src/poisson/transfer.hpp"
#include "q1_elements.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

using testing::random_nodes;
using testing::random_voxels;
using testing::relative_difference;

// Sums of at most 27 products in float64.
constexpr double rounding = 1e-14;

class TensorForms : public ::testing::Test {
 protected:
  static constexpr std::int64_t batch = 2;
  Grid3 const fine_{{8, 4, 12}, {1.0, 0.5, 1.5}};
  Grid3 const coarse_ = fine_.coarsened();
  at::Tensor const nu_ = random_voxels(fine_, batch);
  std::unique_ptr<StencilSource> const stencil_ = voxel_stencil(fine_, nu_);
  at::Tensor const weights_ = black_box_weights(*stencil_);
  at::Tensor const r_ = random_nodes(fine_, batch);
  at::Tensor const e_ = random_nodes(coarse_, batch);
};

TEST_F(TensorForms, RestrictAsTheLoops) {
  EXPECT_LT(relative_difference(tensor_forms::restrict_nodes(r_), restrict_nodes(r_, fine_)),
            rounding);
}

TEST_F(TensorForms, ProlongAsTheLoops) {
  at::Tensor found = r_.clone(), expected = r_.clone();
  tensor_forms::add_prolonged(found, e_, fine_);
  add_prolonged(expected, e_, fine_);
  EXPECT_LT(relative_difference(found, expected), rounding);
}

TEST_F(TensorForms, AverageAsTheLoops) {
  EXPECT_LT(relative_difference(tensor_forms::average_voxels(nu_), average_voxels(nu_, fine_)),
            rounding);
}

TEST_F(TensorForms, ApplyCouplingsAsTheLoops) {
  at::Tensor const couplings = black_box_couplings(*stencil_, weights_);
  auto const op = coarsen_black_box(*stencil_, at::kCPU).op;
  EXPECT_LT(relative_difference(tensor_forms::apply_couplings(couplings, e_), op->apply(e_)),
            rounding);
}

TEST_F(TensorForms, RestrictAndProlongByWeightsAsTheLoops) {
  auto const transfer = black_box_transfer(fine_, weights_);
  EXPECT_LT(relative_difference(tensor_forms::restrict_by_weights(weights_, r_),
                                transfer->restricted(r_)),
            rounding);
  at::Tensor found = r_.clone(), expected = r_.clone();
  tensor_forms::add_prolonged_by_weights(weights_, found, e_);
  transfer->add_prolonged(expected, e_);
  EXPECT_LT(relative_difference(found, expected), rounding);
}

}  // namespace
}  // namespace voxcycle
