// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/io/field_file.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "shard_files.hpp"
#include "tiff_bytes.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace field_tiff_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::uint32_t kPages = 2, kRows = 3, kColumns = 4;

std::string path_of(std::string const& name) {
  static std::string const directory = fresh_directory("field_tiff");
  return directory + "/" + name;
}

std::string written(std::string const& name, std::string const& bytes) {
  std::filesystem::create_directories(std::filesystem::path(path_of(name)).parent_path());
  spit(path_of(name), bytes);
  return path_of(name);
}

/// Pixel [page][row][column]: its digits tell the place.
template <class T>
std::vector<T> plane(int page) {
  std::vector<T> values;
  for (std::uint32_t k = 0; k < kRows * kColumns; ++k) {
    values.push_back(static_cast<T>(100 * page + 10 * (k / kColumns) + k % kColumns + 11));
  }
  return values;
}

std::vector<double> expected() {
  auto values = plane<double>(0);
  auto const second = plane<double>(1);
  values.insert(values.end(), second.begin(), second.end());
  return values;
}

template <class T>
TiffPage page_of(int page, std::uint16_t format, bool big_endian = false) {
  auto bytes = bytes_of(plane<T>(page));
  if (big_endian) {
    for (std::size_t k = 0; k < bytes.size(); k += sizeof(T)) {
      std::reverse(bytes.begin() + static_cast<long>(k),
                   bytes.begin() + static_cast<long>(k + sizeof(T)));
    }
  }
  return {
      .rows = kRows, .columns = kColumns, .bits = 8 * sizeof(T), .format = format, .pixels = bytes};
}

template <class T>
void expect_stack(std::uint16_t format) {
  for (bool const big : {false, true}) {
    auto const file = tiff_file({page_of<T>(0, format, big), page_of<T>(1, format, big)}, big);
    auto const field = read_voxel_field(written("stack.tif", file));
    EXPECT_EQ(field.grid.name(), "2x3x4");  // x: page, y: row, z: column
    EXPECT_EQ(field.values, expected()) << sizeof(T) << " bytes, format " << format;
  }
}

void refuse(std::string const& location, std::vector<std::string> const& texts) {
  for (auto const& text : texts) {
    EXPECT_THAT([&] { read_voxel_field(location); }, ThrowsMessage<Error>(HasSubstr(text)));
  }
}

TEST(FieldTiff, PagesOfEveryTypeInBothOrdersOfBytes) {
  expect_stack<std::uint8_t>(1);
  expect_stack<std::uint16_t>(1);
  expect_stack<std::uint32_t>(1);
  expect_stack<std::int16_t>(2);
  expect_stack<std::int32_t>(2);
  expect_stack<float>(3);
  expect_stack<double>(3);
}

TEST(FieldTiff, AxesAreNamedAsTiffCountsThem) {
  auto const path = written("zyx.TIFF", tiff_file({page_of<float>(0, 3), page_of<float>(1, 3)}));
  auto const field = read_voxel_field(path, {.axes = "zyx"});
  EXPECT_EQ(field.grid.name(), "4x3x2");
  EXPECT_EQ(field.values[1], 111.0);  // the second page is one further along z
}

// PackBits: a run of n + 1 bytes as they are begins with n.
TEST(FieldTiff, PackedPages) {
  auto page = page_of<std::uint8_t>(0, 1);
  std::string packed;
  for (std::uint32_t row = 0; row < kRows; ++row) {
    packed += static_cast<char>(kColumns - 1) + page.pixels.substr(row * kColumns, kColumns);
  }
  page.pixels = packed;
  page.compression = 32773;
  auto const field = read_voxel_field(written("packed.tif", tiff_file({page})));
  EXPECT_EQ(field.grid.name(), "1x3x4");
  EXPECT_EQ(field.values, plane<double>(0));
}

TEST(FieldTiff, TilesThatReachBeyondThePage) {
  // 3 x 4 pixels in tiles of 16 x 16, and 20 x 17 in four of them.
  for (auto const& [rows, columns] : {std::pair<std::uint32_t, std::uint32_t>{3, 4}, {20, 17}}) {
    std::string tiles;
    std::vector<double> values(rows * columns);
    for (std::uint32_t r0 = 0; r0 < rows; r0 += 16) {
      for (std::uint32_t c0 = 0; c0 < columns; c0 += 16) {
        for (std::uint32_t k = 0; k < 256; ++k) {
          auto const r = r0 + k / 16, c = c0 + k % 16;
          bool const inside = r < rows && c < columns;
          tiles += inside ? static_cast<char>(7 * r + c) : '\x7f';
          if (inside) values[r * columns + c] = 7 * r + c;
        }
      }
    }
    TiffPage const page{.rows = rows, .columns = columns, .pixels = tiles, .tile = 16};
    EXPECT_EQ(read_voxel_field(written("tiles.tif", tiff_file({page}))).values, values);
  }
}

TEST(FieldTiff, BitsAreNumbers) {
  // Rows begin with a byte of their own.
  TiffPage const page{
      .rows = 2, .columns = 10, .bits = 1, .pixels = std::string("\xa5\x40\x00\x80", 4)};
  EXPECT_EQ(read_voxel_field(written("bits.tif", tiff_file({page}))).values,
            (std::vector<double>{1, 0, 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0}));
}

TEST(FieldTiff, ThumbnailsAreNoPlanes) {
  TiffPage const small{.rows = 1, .columns = 1, .pixels = "x", .subfile = 1};
  auto const bytes = tiff_file({page_of<float>(0, 3), small, page_of<float>(1, 3)});
  EXPECT_EQ(read_voxel_field(written("thumb.tif", bytes)).values, expected());
}

TEST(FieldTiff, SlicesByTheirNumbers) {
  for (int const k : {9, 10}) {
    written(format("s/slice_%d.tif", k), tiff_file({page_of<std::uint16_t>(k - 9, 1)}));
  }
  written("s/notes.txt", "no slice");
  auto const folder = path_of("s");
  for (auto const& location :
       {folder, folder + "/slice_*.tif", folder + "/slice_9.tif, " + folder + "/slice_10.tif"}) {
    EXPECT_EQ(read_voxel_field(location).values, expected()) << location;
  }
  written("s/slice_11.tif", tiff_file({page_of<std::uint8_t>(0, 1)}));
  refuse(folder,
         {"slice_11.tif: has 3 x 4 pixels of uint8", "slice_9.tif has 3 x 4 pixels of uint16"});
  written("s/slice_11.tif",
          tiff_file({page_of<std::uint16_t>(0, 1), page_of<std::uint16_t>(1, 1)}));
  refuse(folder, {"slice_11.tif: is one of several files, but has several pages"});
  refuse(folder + "/x*.tif", {"fits no file"});
  std::filesystem::create_directory(path_of("empty"));
  refuse(path_of("empty"), {"a folder without TIFF files"});
}

TEST(FieldTiff, WhatIsNoStackIsRefusedByName) {
  auto page = page_of<std::uint8_t>(0, 1);
  auto const whole = tiff_file({page, page_of<std::uint8_t>(1, 1)});
  refuse(path_of("none.tif"), {"none.tif: there is no such file"});
  refuse(written("text.tif", "no TIFF"), {"cannot be opened as TIFF (libtiff: "});
  refuse(written("empty.tif", ""), {"cannot be opened as TIFF"});
  refuse(written("cut.tif", whole.substr(0, whole.size() - 20)), {"cut.tif", "truncated"});
  refuse(written("half.tif", whole.substr(0, whole.size() / 2 + 8)), {"half.tif", "truncated"});
  auto wide = page;
  wide.columns = 5;
  wide.pixels += "xxx";
  refuse(written("mixed.tif", tiff_file({page, wide})),
         {"page 2: has 3 x 5 pixels of uint8", "page 1 has 3 x 4 pixels", "equal pages"});
  auto rgb = page;
  rgb.samples = 3;
  rgb.pixels += page.pixels + page.pixels;
  refuse(written("rgb.tif", tiff_file({rgb})), {"3 numbers a pixel (RGB"});
  auto odd = page;
  odd.bits = 12;
  refuse(written("odd.tif", tiff_file({odd})), {"numbers of 12 bits", "uint8, uint16"});
  auto unknown = page;
  unknown.compression = 34892;
  refuse(written("packed.tif", tiff_file({unknown})), {"34892", "deflate"});
  auto huge = page;
  huge.rows = huge.columns = 65536;
  refuse(written("huge.tif", tiff_file({huge})), {"[1, 65536, 65536]", "out of range"});
}

TEST(FieldTiff, WhatImageJSaysOfAStack) {
  auto page = page_of<std::uint8_t>(0, 1);
  page.description = "ImageJ=1.53\nimages=2\nslices=2\n";
  EXPECT_EQ(read_voxel_field(written("j.tif", tiff_file({page, page}))).grid.name(), "2x3x4");
  refuse(written("j.tif", tiff_file({page})), {"1 of the 2 pages that ImageJ announces"});
  page.description = "ImageJ=1.53\nimages=2\nchannels=2\n";  // as tifffile calls planes
  EXPECT_EQ(read_voxel_field(written("j.tif", tiff_file({page, page}))).grid.name(), "2x3x4");
  page.description = "ImageJ=1.53\nimages=4\nchannels=2\nslices=2\n";
  refuse(written("j.tif", tiff_file({page, page, page, page})), {"2 channels times 2 slices"});
}

}  // namespace field_tiff_test
}  // namespace voxcycle
