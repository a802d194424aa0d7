// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/evaluate/evaluation.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace evaluation_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

double const kNaN = std::numeric_limits<double>::quiet_NaN();

/// Sample 1 has no error, sample 3 no energy: both are worse than all others.
std::vector<SampleErrors> samples() {
  return {{0, 0.1, 0.01, 0.2}, {1, kNaN, kNaN, kNaN}, {2, 0.3, 0.02, 0.2}, {3, 0.2, kNaN, 0.2}};
}

/// "Predicts" nothing that is a number.
class Diverged : public Network {
 public:
  Diverged() : Network(std::make_shared<LevelProblems>()) {}
  MicroBatches forward(ForwardContext const&, Grid3 const& grid, MicroBatches const& x) override {
    return {at::full(grid.node_shape(x.front().size(0)), kNaN)};
  }
  std::vector<LevelParameters> levels(Grid3 const&) const override { return {}; }
  Script script() const override { return {.name = ""}; }
};

TEST(Evaluation, ErrorsThatAreNotFiniteAreTheWorst) {
  std::vector<std::int64_t> order;
  for (auto const& sample : worst_first(samples())) order.push_back(sample.index);
  EXPECT_THAT(order, ElementsAre(1, 3, 2, 0));
  EXPECT_TRUE(worst_first({}).empty());

  Evaluation evaluation;
  evaluation.samples = samples();
  auto const table = evaluation_table(evaluation, 3);
  EXPECT_THAT(table, AllOf(HasSubstr("\n1 "), HasSubstr("... 1 more"), Not(HasSubstr("\n0 "))));
  EXPECT_LT(table.find("\n1 "), table.find("\n3 "));
  EXPECT_LT(table.find("\n3 "), table.find("\n2 "));
}

TEST(Evaluation, SamplesThatAreNotFiniteHavePictures) {
  Grid3 const grid = Grid3::cube(4);
  HeldOutSet const set{.grid = grid,
                       .omega = {},
                       .nu = at::ones({4, 1, 4, 4, 4}),
                       .f = {},
                       .u_ref = at::linspace(0.0, 2.0, 500, at::kDouble).view({4, 1, 5, 5, 5})};
  Evaluation evaluation;
  evaluation.samples = samples();
  Diverged network;
  auto const comm = make_self_communicator();
  auto const shown =
      pictures_of_samples(*comm, network, held_out_samples(set), evaluation, at::kFloat);
  ASSERT_EQ(shown.size(), 2U);
  EXPECT_EQ(shown[0].title, "worst sample (index 1)");
  EXPECT_EQ(shown[1].title, "median sample (index 2)");
  // As in the tables of the same page.
  EXPECT_THAT(shown[0].note, HasSubstr("Relative L2 -, energy gap -"));
  EXPECT_THAT(shown[1].note, HasSubstr("Relative L2 30.00 %, energy gap 2.00 %"));
  for (auto const& sample : shown) {
    ASSERT_EQ(sample.pictures.size(), 4U);
    for (auto const& picture : sample.pictures) {
      EXPECT_TRUE(std::isfinite(picture.low) && std::isfinite(picture.high)) << picture.caption;
    }
    EXPECT_EQ(sample.pictures[1].high, sample.pictures[2].high) << "one range for u and u*";
    EXPECT_EQ(sample.pictures[3].low, -sample.pictures[3].high);
  }
}

}  // namespace evaluation_test
}  // namespace voxcycle
