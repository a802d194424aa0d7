// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/median.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/random.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace voxcycle {
namespace median_test {

TEST(Median, IsTheOneInTheMiddle) {
  EXPECT_EQ(median({4.0}), 4.0);
  EXPECT_EQ(median({3.0, 1.0, 2.0}), 2.0);
  EXPECT_EQ(median({9.0, -1.0, 5.0, 5.0, 1e300}), 5.0);
  EXPECT_EQ(median({4.0, 1.0}), 4.0) << "an even number: the greater of two";
  EXPECT_EQ(median({4.0, 1.0, 3.0, 2.0}), 3.0);
}

TEST(Median, IsThatOfASortedList) {
  for (std::uint64_t count = 1; count <= 40; ++count) {
    std::vector<double> values;
    for (std::uint64_t k = 0; k < count; ++k) values.push_back(hash_uniform({count, k}));
    double const found = median(values);
    std::sort(values.begin(), values.end());
    EXPECT_EQ(found, values[count / 2]) << count;
  }
}

TEST(Median, OfNothingIsRefused) {
  EXPECT_THROW(median({}), Error);
}

}  // namespace median_test
}  // namespace voxcycle
