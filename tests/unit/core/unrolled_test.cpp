// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/unrolled.hpp"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace voxcycle {
namespace unrolled_test {

TEST(Unrolled, NumbersAreConstantsInOrder) {
  std::vector<int> seen;
  unrolled<3>([&](auto number) {
    constexpr int i = decltype(number)::value;
    std::array<int, i + 1> sized{};  // would not compile with a variable
    seen.push_back(static_cast<int>(sized.size()));
  });
  EXPECT_EQ(seen, (std::vector<int>{1, 2, 3}));
}

}  // namespace unrolled_test
}  // namespace voxcycle
