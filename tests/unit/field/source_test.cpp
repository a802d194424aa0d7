// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/field/source.hpp"

#include "voxcycle/core/error.hpp"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace source_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// A mean over 4000 samples of a quantity that scatters by about itself.
constexpr double kScatter = 0.05;
// Means over 2x2x2 voxels differ from the centre by h^2/8 times second derivatives: of cosines with
// at most pi i = 2 pi an axis (4 pi^2), and the size of f, at h = 1/16.
constexpr double kCurvature = 3 * 4 * 9.87 / 8 / 256;

std::vector<float> sample(std::uint64_t seed, std::int64_t index, Grid3 const& grid) {
  std::vector<float> f(static_cast<std::size_t>(grid.voxel_count()));
  sample_source(seed, index, grid, {}, f);
  return f;
}

TEST(Source, TextAndBack) {
  EXPECT_TRUE(parse_source("0").is_zero());
  EXPECT_EQ(to_string(parse_source("-0")), "0");
  EXPECT_EQ(to_string(Source{}), "0");
  EXPECT_EQ(parse_source("-2.5").value, -2.5);
  EXPECT_FALSE(parse_source("sampled").is_zero());
  for (char const* text : {"0", "-2.5", "0.1", "1e+100", "sampled", "8*sin(pi*x)"}) {
    EXPECT_EQ(to_string(parse_source(text)), text);
  }
  EXPECT_TRUE(parse_source("x").varies());
  EXPECT_FALSE(parse_source("3").varies());
  for (char const* text : {"", "nan", "inf", "1x", "samples", "x +"}) {
    EXPECT_THAT([&] { parse_source(text); },
                ThrowsMessage<Error>(HasSubstr("is no formula in x, y and z")))
        << text;
  }
}

TEST(Source, Size) {
  EXPECT_EQ(source_size(parse_source("-2.5")), 2.5);
  EXPECT_EQ(source_size(parse_source("sampled")), source_rms);
  // At midpoints the mean square of a sine's whole period is 1/2.
  EXPECT_NEAR(source_size(parse_source("3*sin(2*pi*y)")), 3 * std::sqrt(0.5), 1e-6);
}

TEST(Source, IsAFunctionOfSeedAndIndex) {
  Grid3 const grid = Grid3::cube(4);
  EXPECT_EQ(sample(1, 5, grid), sample(1, 5, grid));
  EXPECT_NE(sample(1, 5, grid), sample(1, 6, grid));
  EXPECT_NE(sample(1, 5, grid), sample(2, 5, grid));
}

TEST(Source, IsTheSameFunctionOnEveryGrid) {
  // The centre of a voxel of 5 x 3 x 1 is also one of 15 x 9 x 3.
  Grid3 const coarse{{5, 3, 1}, {1.0, 2.0, 0.5}}, fine{{15, 9, 3}, {1.0, 2.0, 0.5}};
  auto const few = sample(3, 7, coarse), many = sample(3, 7, fine);
  for (int x = 0; x < 5; ++x) {
    for (int y = 0; y < 3; ++y) {
      EXPECT_NEAR(few[static_cast<std::size_t>(x * 3 + y)],
                  many[static_cast<std::size_t>(((3 * x + 1) * 9 + 3 * y + 1) * 3 + 1)], 1e-5);
    }
  }
}

TEST(Source, IsSmooth) {
  auto const f = sample(3, 7, Grid3::cube(16)), g = sample(3, 7, Grid3::cube(8));
  double largest = 0.0, bend = 0.0;
  for (float value : f) largest = std::max(largest, std::abs(static_cast<double>(value)));
  for (std::size_t x = 0; x < 8; ++x) {
    for (std::size_t y = 0; y < 8; ++y) {
      for (std::size_t z = 0; z < 8; ++z) {
        double mean = 0.0;
        for (std::size_t c = 0; c < 8; ++c) {
          mean += f[((2 * x + c / 4) * 16 + 2 * y + c / 2 % 2) * 16 + 2 * z + c % 2] / 8.0;
        }
        bend = std::max(bend, std::abs(mean - g[(x * 8 + y) * 8 + z]));
      }
    }
  }
  EXPECT_GT(bend, 0.0);
  EXPECT_LT(bend, kCurvature * largest);
}

TEST(Source, HasMeanZeroAndTheStatedMeanSquareOverSamples) {
  Grid3 const grid = Grid3::cube(8);
  constexpr int kSamples = 4000;
  double sum = 0.0, squares = 0.0;
  for (int index = 0; index < kSamples; ++index) {
    for (float value : sample(1, index, grid)) {
      sum += value;
      squares += static_cast<double>(value) * value;
    }
  }
  double const count = static_cast<double>(kSamples) * 512;
  EXPECT_NEAR(std::sqrt(squares / count), source_rms, kScatter * source_rms);
  EXPECT_NEAR(sum / count, 0.0, kScatter * source_rms);
}

/// 1, 2, ..., 64 on 4^3 voxels, times a factor.
SourceField counting(float factor = 1.0F) {
  SourceField field{"here.npy", Grid3::cube(4), {}};
  for (int k = 1; k <= 64; ++k) field.values.push_back(factor * static_cast<float>(k));
  return field;
}

TEST(Source, OfAFileIsNamedByItsContent) {
  auto const source = source_in_file([] { return counting(); });
  EXPECT_TRUE(source.varies());
  // The mean of the first 64 squares is 65 * 129 / 6.
  EXPECT_DOUBLE_EQ(source_size(source), std::sqrt(65.0 * 129.0 / 6.0));
  auto moved = counting();
  moved.location = "there.npy";
  EXPECT_EQ(to_string(source_in_file([=] { return moved; })), to_string(source));
  EXPECT_NE(to_string(source_in_file([] { return counting(2.0F); })), to_string(source));
  auto const known = parse_source(to_string(source));
  EXPECT_EQ(known, source);
  EXPECT_EQ(source_size(known), source_size(source));
  EXPECT_THAT([&] { file_source_values(known, Grid3::cube(4)); },
              ThrowsMessage<Error>(HasSubstr("Name the file in problem.source")));
}

TEST(Source, OfAFileIsAveragedOnCoarserGrids) {
  auto const source = source_in_file([] { return counting(); });
  EXPECT_EQ(file_source_values(source, Grid3::cube(4)), counting().values);
  auto const coarse = file_source_values(source, Grid3::cube(2));
  // The voxels of the first corner hold 1, 2, 5, 6, 17, 18, 21, 22; the next ones along z, y and x
  // hold 2, 8 and 32 more.
  for (std::size_t k = 0; k < 8; ++k) {
    EXPECT_EQ(coarse[k], 11.5F + static_cast<float>(k / 4 * 32 + k / 2 % 2 * 8 + k % 2 * 2)) << k;
  }
  for (auto const& grid : {Grid3::cube(8), Grid3::cube(3)}) {
    EXPECT_THAT([&] { file_source_values(source, grid); },
                ThrowsMessage<Error>(HasSubstr("here.npy: its arrays are 4x4x4")))
        << grid.name();
  }
}

TEST(Source, OfAFileIsRefusedWhereItIsZeroOrHasChanged) {
  EXPECT_THAT([] { source_in_file([] { return counting(0.0F); }); },
              ThrowsMessage<Error>(HasSubstr("zero everywhere")));
  float factor = 1.0F;
  auto const source = source_in_file([&] { return counting(factor); });
  factor = 3.0F;
  EXPECT_THAT([&] { file_source_values(source, Grid3::cube(4)); },
              ThrowsMessage<Error>(HasSubstr("has changed")));
}

TEST(Source, RefusesSizesThatDoNotFit) {
  std::vector<float> f(63);
  EXPECT_THROW(sample_source(1, 0, Grid3::cube(4), {}, f), Error);
}

}  // namespace source_test
}  // namespace voxcycle
