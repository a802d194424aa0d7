// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/field/sobol.hpp"

#include "voxcycle/core/error.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace voxcycle {
namespace sobol_test {

constexpr int kDimension = 6;

/// First 32 bits of the point without its shift: point 0 is the origin, and the shift is an XOR.
std::vector<std::uint32_t> unshifted(std::uint64_t seed, std::int64_t index, int dimension) {
  auto const bits = [](double x) { return static_cast<std::uint32_t>(std::ldexp(x, 32)); };
  std::vector<double> const origin = sobol_point(seed, 0, dimension);
  std::vector<double> const point = sobol_point(seed, index, dimension);
  std::vector<std::uint32_t> result;
  for (std::size_t k = 0; k < point.size(); ++k) result.push_back(bits(point[k]) ^ bits(origin[k]));
  return result;
}

TEST(Sobol, HitsEveryDyadicIntervalOfEachAxisEqually) {
  std::vector<std::vector<int>> hits(kDimension, std::vector<int>(16, 0));
  for (int index = 0; index < 256; ++index) {
    std::vector<double> const point = sobol_point(5, index, kDimension);
    for (std::size_t axis = 0; axis < kDimension; ++axis) {
      ++hits[axis][static_cast<std::size_t>(16 * point[axis])];
    }
  }
  for (auto const& axis : hits) EXPECT_EQ(axis, std::vector<int>(16, 16));
}

TEST(Sobol, TwoDimensionalProjectionsAreEven) {
  // Joe and Kuo's directions are a (0, 2)-sequence on the first two axes; the other pairs have
  // quality t <= 4 among the first six axes, so that 256 points fill 4 x 4 squares equally.
  for (int a = 0; a < kDimension; ++a) {
    for (int b = a + 1; b < kDimension; ++b) {
      int const side = a == 0 && b == 1 ? 16 : 4;
      std::vector<int> hits(static_cast<std::size_t>(side * side), 0);
      for (int index = 0; index < 256; ++index) {
        std::vector<double> const point = sobol_point(99, index, kDimension);
        int const row = static_cast<int>(side * point[static_cast<std::size_t>(a)]);
        int const column = static_cast<int>(side * point[static_cast<std::size_t>(b)]);
        ++hits[static_cast<std::size_t>(row * side + column)];
      }
      EXPECT_EQ(hits, std::vector<int>(hits.size(), 256 / (side * side))) << a << ' ' << b;
    }
  }
}

TEST(Sobol, IsTheSequenceOfJoeAndKuo) {
  // From scipy.stats.qmc.Sobol(6, scramble=False) of SciPy, times 16.
  std::vector<std::vector<std::uint32_t>> const sixteenths = {
      {0, 0, 0, 0, 0, 0},   {8, 8, 8, 8, 8, 8},     {12, 4, 4, 4, 12, 12},   {4, 12, 12, 12, 4, 4},
      {6, 6, 10, 14, 6, 2}, {14, 14, 2, 6, 14, 10}, {10, 2, 14, 10, 10, 14}, {2, 10, 6, 2, 2, 6},
      {3, 5, 15, 7, 9, 5},  {11, 13, 7, 15, 1, 13}, {15, 1, 11, 3, 5, 9},    {7, 9, 3, 11, 13, 1},
      {5, 3, 5, 9, 15, 7},  {13, 11, 13, 1, 7, 15}, {9, 7, 1, 13, 3, 11},    {1, 15, 9, 5, 11, 3}};
  for (std::size_t index = 0; index < sixteenths.size(); ++index) {
    std::vector<std::uint32_t> expected;
    for (std::uint32_t value : sixteenths[index]) expected.push_back(value << 28);
    EXPECT_EQ(unshifted(1, static_cast<std::int64_t>(index), kDimension), expected) << index;
  }
}

TEST(Sobol, FarPointsFollowTheGrayCodeOrder) {
  // In Gray code order, axis 0 of point n is the bit reversal of n ^ (n >> 1); the points at 2^40
  // and just after must be, too, and they must be as quick to get.
  for (std::int64_t index : {std::int64_t{1} << 20, (std::int64_t{1} << 31) + 12345}) {
    std::uint64_t gray = static_cast<std::uint64_t>(index ^ (index >> 1));
    std::uint32_t reversed = 0;
    for (int bit = 0; bit < 32; ++bit, gray >>= 1) reversed = (reversed << 1) | (gray & 1);
    EXPECT_EQ(unshifted(8, index, 3)[0], reversed) << index;
  }
  std::int64_t const far = std::int64_t{1} << 40;
  EXPECT_EQ(unshifted(8, far, 1)[0], 0U) << "bits 40 and 39 of the Gray code lie below 32 bits";
  EXPECT_NE(sobol_point(8, far, 1)[0], sobol_point(8, 0, 1)[0]);
}

TEST(Sobol, IsAPureFunctionOfSeedAndIndex) {
  EXPECT_EQ(sobol_point(3, 17, 4), sobol_point(3, 17, 4));
  EXPECT_NE(sobol_point(3, 17, 4), sobol_point(4, 17, 4));
  EXPECT_NE(sobol_point(3, 17, 4), sobol_point(3, 18, 4));
}

TEST(Sobol, RefusesWhatDoesNotExist) {
  EXPECT_THROW(sobol_point(0, -1, 4), Error);
  EXPECT_THROW(sobol_point(0, 0, 0), Error);
  EXPECT_THROW(sobol_point(0, 0, 100000), Error);
}

}  // namespace sobol_test
}  // namespace voxcycle
