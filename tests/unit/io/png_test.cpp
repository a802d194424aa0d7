// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/io/png.hpp"

#include "voxcycle/core/error.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace voxcycle {
namespace png_test {

/// The parts of a PNG with a palette, taken apart by hand.
struct Picture {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::string palette;
  std::string compressed;
};

std::uint32_t big_endian(std::string const& bytes, std::size_t place) {
  std::uint32_t value = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    value = value << 8 | static_cast<unsigned char>(bytes.at(place + k));
  }
  return value;
}

Picture take_apart(std::string const& bytes) {
  Picture picture;
  EXPECT_EQ(bytes.substr(0, 8), "\x89PNG\r\n\x1a\n");
  std::string last;
  for (std::size_t place = 8; place < bytes.size();) {
    std::uint32_t const size = big_endian(bytes, place);
    last = bytes.substr(place + 4, 4);
    std::string const data = bytes.substr(place + 8, size);
    if (last == "IHDR") {
      picture.width = big_endian(data, 0);
      picture.height = big_endian(data, 4);
      EXPECT_EQ(data.substr(9, 1), "\x03") << "colours by palette";
    }
    if (last == "PLTE") picture.palette = data;
    if (last == "IDAT") picture.compressed += data;
    place += 12 + size;
  }
  EXPECT_EQ(last, "IEND");
  return picture;
}

std::array<int, 3> rgb(Picture const& picture, std::size_t entry) {
  std::array<int, 3> color{};
  for (std::size_t k = 0; k < 3; ++k) {
    color[k] = static_cast<unsigned char>(picture.palette.at(3 * entry + k));
  }
  return color;
}

TEST(Png, HasTheSizeOfTheSliceTimesTheScale) {
  std::vector<double> const values(6, 0.5);
  Picture const picture = take_apart(slice_to_png(values, 2, 3, 0, 1, ColorMap::sequential, 5));
  EXPECT_EQ(picture.width, 15U);
  EXPECT_EQ(picture.height, 10U);
}

TEST(Png, AScaledSliceIsTheSliceOfRepeatedValues) {
  std::vector<double> const values = {0.0, 0.1, 0.2, 0.5, 0.7, 1.0};  // 2 rows of 3
  std::vector<double> repeated;
  for (std::size_t row = 0; row < 6; ++row) {
    for (std::size_t column = 0; column < 9; ++column) {
      repeated.push_back(values[row / 3 * 3 + column / 3]);
    }
  }
  EXPECT_EQ(slice_to_png(values, 2, 3, 0, 1, ColorMap::sequential, 3),
            slice_to_png(repeated, 6, 9, 0, 1, ColorMap::sequential, 1));
  std::vector<double> const swapped = {0.5, 0.7, 1.0, 0.0, 0.1, 0.2};
  EXPECT_NE(slice_to_png(values, 2, 3, 0, 1, ColorMap::sequential, 3),
            slice_to_png(swapped, 2, 3, 0, 1, ColorMap::sequential, 3));
  std::vector<double> const first_twice = {0.0, 0.1, 0.2, 0.0, 0.1, 0.2};
  EXPECT_NE(slice_to_png(values, 2, 3, 0, 1, ColorMap::sequential, 3),
            slice_to_png(first_twice, 2, 3, 0, 1, ColorMap::sequential, 3));
}

TEST(Png, MapsAreTheKnownOnes) {
  std::vector<double> ramp;
  for (int k = 0; k <= 254; ++k) ramp.push_back(k);
  Picture const viridis = take_apart(slice_to_png(ramp, 1, 255, 0, 254, ColorMap::sequential, 1));
  EXPECT_EQ(rgb(viridis, 0), (std::array{0x44, 0x01, 0x54}));
  EXPECT_EQ(rgb(viridis, 254), (std::array{0xfd, 0xe7, 0x25}));
  // matplotlib.colormaps["viridis"](0.25) and (0.75), within the error of 17 linear pieces.
  constexpr int kWithin = 6;
  std::array<int, 3> const quarter{59, 82, 139};
  std::array<int, 3> const three_quarters{94, 201, 98};
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(rgb(viridis, 64)[k], quarter[k], kWithin);
    EXPECT_NEAR(rgb(viridis, 190)[k], three_quarters[k], kWithin);
  }

  Picture const diverging = take_apart(slice_to_png(ramp, 1, 255, 0, 254, ColorMap::diverging, 1));
  EXPECT_GT(rgb(diverging, 30)[2], rgb(diverging, 30)[0]) << "blue below";
  EXPECT_EQ(rgb(diverging, 127), (std::array{0xf7, 0xf7, 0xf7})) << "white in the middle";
  EXPECT_LT(rgb(diverging, 224)[2], rgb(diverging, 224)[0]) << "red above";
}

TEST(Png, ClampsAndMarksWhatIsNotFinite) {
  auto const draw = [](std::vector<double> const& values, double low, double high) {
    return slice_to_png(values, 1, std::ssize(values), low, high, ColorMap::sequential, 2);
  };
  EXPECT_EQ(draw({-7.0, 0.2, 9.0}, 0, 1), draw({0.0, 0.2, 1.0}, 0, 1));
  EXPECT_EQ(draw({std::nan(""), 0.2}, 0, 1),
            draw({std::numeric_limits<double>::infinity(), 0.2}, 0, 1));
  EXPECT_NE(draw({std::nan(""), 0.2}, 0, 1), draw({1.0, 0.2}, 0, 1));
  EXPECT_NE(draw({0.3, 0.2}, 0, 1), draw({0.2, 0.3}, 0, 1));
  EXPECT_EQ(draw({3.0, 3.0}, 3, 3), draw({0.5, 0.5}, 0, 1)) << "a constant is the middle colour";
}

TEST(Png, RangesAreOfWhatIsFinite) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double const nan = std::nan("");
  auto const ends = [](std::vector<double> const& values) {
    ColorRange const range = range_of_finite(values);
    return std::array{range.low, range.high};
  };
  EXPECT_EQ(ends({2.0, -3.0, 1.0}), (std::array{-3.0, 2.0}));
  EXPECT_EQ(ends({nan, 2.0, infinity, -3.0, -infinity, nan}), (std::array{-3.0, 2.0}));
  EXPECT_EQ(ends({nan, 5.0}), (std::array{5.0, 5.0}));
  EXPECT_EQ(ends({nan, infinity, -infinity}), (std::array{0.0, 1.0}));
  EXPECT_EQ(ends({}), (std::array{0.0, 1.0}));
}

TEST(Png, RefusesBadSizes) {
  std::vector<double> const values(6, 0.0);
  auto const draw = [&](std::int64_t rows, std::int64_t columns, double low, double high,
                        int scale) {
    return slice_to_png(values, rows, columns, low, high, ColorMap::sequential, scale);
  };
  EXPECT_NO_THROW(draw(2, 3, 0, 1, 1));
  EXPECT_THROW(draw(2, 2, 0, 1, 1), Error);
  EXPECT_THROW(draw(-2, -3, 0, 1, 1), Error);
  EXPECT_THROW(draw(2, 3, 0, 1, 0), Error);
  EXPECT_THROW(draw(2, 3, 0, 1, 1 << 20), Error);
  EXPECT_THROW(draw(2, 3, 1, 0, 1), Error);
  EXPECT_THROW(draw(2, 3, 0, std::nan(""), 1), Error);
}

TEST(Base64, HasTheVectorsOfRfc4648) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foob"), "Zm9vYg==");
  EXPECT_EQ(base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
  EXPECT_EQ(base64(std::string(3, '\0')), "AAAA");
}

}  // namespace png_test
}  // namespace voxcycle
