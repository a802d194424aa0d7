// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/member_spread.hpp"

#include "voxcycle/core/error.hpp"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace member_spread_test {

TEST(MemberSpread, IsMeanAndDeviationAtEachNode) {
  // Two samples of two nodes; three members.
  auto const field = [](double a, double b, double c, double d) {
    return at::tensor({a, b, c, d}, at::kFloat).view({2, 1, 2, 1, 1});
  };
  auto const s = spread_of_members({field(1, 0, 1, 3), field(2, 0, 1, 3), field(6, 0, 1, 6)});
  auto const expect = [](at::Tensor const& values, std::vector<double> const& numbers) {
    EXPECT_EQ(values.scalar_type(), at::kDouble);
    EXPECT_TRUE(at::allclose(values.flatten(), at::tensor(numbers, at::kDouble), 1e-15, 0.0))
        << values;
  };
  expect(s.mean, {3, 0, 1, 4});
  expect(s.deviation, {std::sqrt(7.0), 0, 0, std::sqrt(3.0)});  // squares 14 and 6, over 2
  expect(s.relative(), {std::sqrt(7.0) / 3, std::sqrt(3.0 / 17)});
}

TEST(MemberSpread, LeavesTheMembersFieldsAlone) {
  auto const a = at::zeros({1, 1, 2, 2, 2}, at::kDouble);
  auto const b = at::ones({1, 1, 2, 2, 2}, at::kDouble);
  auto const s = spread_of_members({a, b});
  EXPECT_EQ(a.sum().item<double>(), 0.0);
  EXPECT_EQ(s.mean.sum().item<double>(), 4.0);
  EXPECT_THROW(spread_of_members({a}), Error);
}

}  // namespace member_spread_test
}  // namespace voxcycle
