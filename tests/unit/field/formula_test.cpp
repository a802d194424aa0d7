// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/field/formula.hpp"

#include "voxcycle/core/error.hpp"

#include <cmath>
#include <numbers>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace formula_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Formula, HasItsValuesAtVoxelCentres) {
  Grid3 const grid{{2, 3, 4}, {1.0, 0.75, 1.0}};
  auto const values = formula_values("sin(pi*x) + 10*y - 100*z", grid);
  ASSERT_EQ(values.size(), 24U);
  for (int i = 0, at = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 4; ++k, ++at) {
        double const x = 0.25 + 0.5 * i, y = 0.125 + 0.25 * j, z = 0.125 + 0.25 * k;
        EXPECT_NEAR(values[static_cast<std::size_t>(at)],
                    std::sin(std::numbers::pi * x) + 10 * y - 100 * z, 1e-5)
            << at;
      }
    }
  }
}

TEST(Formula, KnowsChoices) {
  EXPECT_THAT(formula_values("x > 0.5 ? 2 : -1", Grid3::cube(2)),
              ::testing::ElementsAre(-1, -1, -1, -1, 2, 2, 2, 2));
}

TEST(Formula, SaysWhatIsWrong) {
  for (char const* text : {"", "x +", "sin(", "w", "x y", "f.npy", "runs/f.h5"}) {
    EXPECT_FALSE(is_formula(text)) << text;
  }
  EXPECT_THAT([] { require_formula("x + w"); },
              ThrowsMessage<Error>(AllOf(HasSubstr("'x + w' is no formula"), HasSubstr("\"w\""))));
  EXPECT_THAT([] { formula_values("1/(x-0.25)", Grid3::cube(2)); },
              ThrowsMessage<Error>(HasSubstr("not finite at (0.25, 0.25, 0.25)")));
}

}  // namespace formula_test
}  // namespace voxcycle
