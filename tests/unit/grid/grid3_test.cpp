// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/grid/grid3.hpp"

#include "voxcycle/core/error.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace grid3_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Grid3 const kBox{{4, 6, 10}, {1.0, 3.0, 0.5}};

TEST(Grid3, CountsVoxelsAndNodes) {
  EXPECT_EQ(Grid3::cube(4).voxel_count(), 64);
  EXPECT_EQ(Grid3::cube(4).node_count(), 125);
  EXPECT_EQ(Grid3::cube(4).spacing(2), 0.25);
  EXPECT_EQ(kBox.voxel_count(), 240);
  EXPECT_EQ(kBox.node_count(), 5 * 7 * 11);
  EXPECT_EQ(kBox.nodes(1), 7);
  EXPECT_EQ(kBox.spacing(1), 0.5);
  EXPECT_EQ(Grid3::cube(2048).voxel_count(), std::int64_t{1} << 33) << "beyond 32 bits";
}

TEST(Grid3, HalvesEvenGridsOfTheSameBox) {
  EXPECT_TRUE(kBox.divisible(0));
  EXPECT_TRUE(kBox.divisible(1));
  EXPECT_FALSE(kBox.divisible(2));
  EXPECT_TRUE((kBox.coarsened() == Grid3{{2, 3, 5}, {1.0, 3.0, 0.5}}));
  EXPECT_TRUE(Grid3::cube(512).divisible(9));
  EXPECT_FALSE(Grid3::cube(512).divisible(10));
  EXPECT_THAT([] { kBox.coarsened().coarsened(); },
              ThrowsMessage<Error>(HasSubstr("grid 2x3x5 cannot be halved")));
}

TEST(Grid3, Names) {
  EXPECT_EQ(kBox.name(), "4x6x10");
  EXPECT_EQ(kBox.label(), "4x6x10");
  EXPECT_EQ(Grid3::cube(64).name(), "64x64x64");
  EXPECT_EQ(Grid3::cube(64).label(), "64^3");
}

TEST(Grid3, EmptyGridsAreRefusedByAxis) {
  EXPECT_NO_THROW(require_valid(kBox));
  for (int axis = 0; axis < 3; ++axis) {
    std::string const text = std::string("along axis ") + "xyz"[axis];
    Grid3 no_voxels = kBox;
    no_voxels.voxels[static_cast<std::size_t>(axis)] = 0;
    EXPECT_THAT([&] { require_valid(no_voxels); }, ThrowsMessage<Error>(HasSubstr(text)));
    for (double length : {0.0, -1.0, std::nan("")}) {
      Grid3 no_length = kBox;
      no_length.lengths[static_cast<std::size_t>(axis)] = length;
      EXPECT_THAT([&] { require_valid(no_length); }, ThrowsMessage<Error>(HasSubstr(text)));
    }
  }
}

}  // namespace grid3_test
}  // namespace voxcycle
