// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/evaluate/slices.hpp"

#include <filesystem>
#include <limits>
#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace slices_test {

double const kNaN = std::numeric_limits<double>::quiet_NaN();

MiddlePlane middle_of(at::Tensor const& field) {
  return [=](int axis) { return field.select(axis, field.size(axis) / 2); };
}

SliceRanges slices_of(at::Tensor const& u) {
  std::string const directory = std::string(VOXCYCLE_TEST_SCRATCH) + "/slices";
  std::filesystem::remove_all(directory);
  at::Tensor const nu = at::full({4, 4, 4}, 100.0, at::kDouble);
  auto const ranges =
      write_slices(directory, "a field", {}, Grid3::cube(4), middle_of(u), middle_of(nu));
  for (char const* name : {"/u_x.png", "/u_y.png", "/u_z.png", "/nu_z.png", "/slices.html"}) {
    EXPECT_TRUE(std::filesystem::exists(directory + name)) << name;
  }
  EXPECT_EQ(ranges.log10_nu.low, 2.0);
  EXPECT_EQ(ranges.log10_nu.high, 2.0);
  return ranges;
}

TEST(Slices, RangesAreOfThePlanesThatAreShown) {
  // x^2 + y on nodes, of which the plane across z shows all.
  at::Tensor const s = at::arange(5, at::kDouble);
  at::Tensor const u = (s.square().view({5, 1, 1}) + s.view({1, 5, 1})).expand({5, 5, 5});
  auto const ranges = slices_of(u);
  EXPECT_EQ(ranges.u.low, 0.0);
  EXPECT_EQ(ranges.u.high, 20.0);
}

TEST(Slices, ValuesThatAreNotFiniteAreLeftOutOfTheRange) {
  at::Tensor u = at::linspace(-1.0, 3.0, 125, at::kDouble).view({5, 5, 5});
  auto const plain = slices_of(u);
  u[2][2][2].fill_(kNaN);
  u[2][2][1].fill_(std::numeric_limits<double>::infinity());
  auto const holed = slices_of(u);
  EXPECT_EQ(holed.u.low, plain.u.low);
  EXPECT_EQ(holed.u.high, plain.u.high);
  auto const nothing = slices_of(at::full({5, 5, 5}, kNaN, at::kDouble));
  EXPECT_EQ(nothing.u.low, 0.0);
  EXPECT_EQ(nothing.u.high, 1.0);
}

}  // namespace slices_test
}  // namespace voxcycle
