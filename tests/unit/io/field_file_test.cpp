// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/io/field_file.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/io/checkpoint_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "io/hdf5.hpp"
#include "shard_files.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

namespace voxcycle {
namespace field_file_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// The value that all files here hold at voxel (x, y, z): its digits tell the place.
double value_at(std::int64_t x, std::int64_t y, std::int64_t z) {
  return static_cast<double>(100 * (x + 1) + 10 * (y + 1) + (z + 1));
}

constexpr std::int64_t kX = 2, kY = 3, kZ = 4;

/// The values in the order x slowest, z fastest, as type T.
template <class T>
std::vector<T> values_xyz() {
  std::vector<T> values;
  for (std::int64_t x = 0; x < kX; ++x) {
    for (std::int64_t y = 0; y < kY; ++y) {
      for (std::int64_t z = 0; z < kZ; ++z) values.push_back(static_cast<T>(value_at(x, y, z)));
    }
  }
  return values;
}

/// z slowest, x fastest.
template <class T>
std::vector<T> values_zyx() {
  std::vector<T> values;
  for (std::int64_t z = 0; z < kZ; ++z) {
    for (std::int64_t y = 0; y < kY; ++y) {
      for (std::int64_t x = 0; x < kX; ++x) values.push_back(static_cast<T>(value_at(x, y, z)));
    }
  }
  return values;
}

template <class T>
std::string bytes_of(std::vector<T> const& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// A NumPy file of version 1 as numpy.lib.format describes it.
std::string numpy_file(std::string const& type, std::string const& fortran,
                       std::string const& shape, std::string const& numbers) {
  std::string header =
      "{'descr': " + type + ", 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size() % 256) +
         static_cast<char>(header.size() / 256) + header + numbers;
}

/// The same numbers with the bytes of each in the other order.
template <class T>
std::string reversed_bytes(std::vector<T> const& values) {
  auto bytes = bytes_of(values);
  for (std::size_t k = 0; k < bytes.size(); k += sizeof(T)) {
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(k),
                 bytes.begin() + static_cast<std::ptrdiff_t>(k + sizeof(T)));
  }
  return bytes;
}

std::string path_of(std::string const& name) {
  static std::string const directory = fresh_directory("field_file");
  return directory + "/" + name;
}

std::string written(std::string const& name, std::string const& bytes) {
  spit(path_of(name), bytes);
  return path_of(name);
}

void expect_field(VoxelField const& field, std::string const& what) {
  ASSERT_EQ(field.grid.name(), "2x3x4") << what;
  EXPECT_EQ(field.values, values_xyz<double>()) << what;
}

void refuse(std::string const& location, std::vector<std::string> const& texts,
            VoxelFieldOptions const& options = {}) {
  for (auto const& text : texts) {
    EXPECT_THAT([&] { read_voxel_field(location, options); },
                ThrowsMessage<Error>(HasSubstr(text)));
  }
}

TEST(FieldFile, NumpyInBothOrdersAndAllTypes) {
  std::string const shape = "(2, 3, 4)";
  auto const read = [&](std::string const& type, std::string const& numbers) {
    return read_voxel_field(written("a.npy", numpy_file(type, "False", shape, numbers)));
  };
  expect_field(read("'<f4'", bytes_of(values_xyz<float>())), "f4");
  expect_field(read("'<f8'", bytes_of(values_xyz<double>())), "f8");
  expect_field(read("'<i2'", bytes_of(values_xyz<std::int16_t>())), "i2");
  expect_field(read("'<i4'", bytes_of(values_xyz<std::int32_t>())), "i4");
  expect_field(read("'<i8'", bytes_of(values_xyz<std::int64_t>())), "i8");
  expect_field(read("'<u2'", bytes_of(values_xyz<std::uint16_t>())), "u2");
  expect_field(read("'<u4'", bytes_of(values_xyz<std::uint32_t>())), "u4");
  expect_field(read("'<u8'", bytes_of(values_xyz<std::uint64_t>())), "u8");
  expect_field(read("'>f8'", reversed_bytes(values_xyz<double>())), "big-endian f8");
  expect_field(read("'>u2'", reversed_bytes(values_xyz<std::uint16_t>())), "big-endian u2");
  EXPECT_EQ(read("'|b1'", std::string(24, '\x01')).values, std::vector<double>(24, 1.0));
  auto const bytes = read("'|u1'", std::string(24, '\xff'));
  EXPECT_EQ(bytes.values, std::vector<double>(24, 255.0));
  EXPECT_EQ(read("'|i1'", std::string(24, '\xff')).values, std::vector<double>(24, -1.0));
  // array[x, y, z] with the first index fastest in memory.
  expect_field(read_voxel_field(written(
                   "f.npy", numpy_file("'<f4'", "True", shape, bytes_of(values_zyx<float>())))),
               "Fortran order");
}

// Source: the table of binary16 in IEEE 754.
TEST(FieldFile, HalfPrecisionNumbers) {
  std::vector<std::uint16_t> const bits{0x0001, 0x03ff, 0x0400, 0x3555, 0x3bff, 0x3c00,
                                        0x3c01, 0x7bff, 0x8000, 0xc000, 0x7c00, 0xfc00};
  auto const path =
      written("half.npy", numpy_file("'<f2'", "False", "(1, 2, 2, 3)", bytes_of(bits)));
  auto const inf = std::numeric_limits<double>::infinity();
  EXPECT_THAT(
      read_voxel_field(path).values,
      ElementsAre(std::ldexp(1.0, -24), std::ldexp(1023.0, -24), std::ldexp(1.0, -14),
                  0.333251953125, 0.99951171875, 1.0, 1.0009765625, 65504.0, 0.0, -2.0, inf, -inf));
  auto const raw = written("half.raw", bytes_of(std::vector<std::uint16_t>{0x7e00}));
  EXPECT_TRUE(std::isnan(read_voxel_field(raw + ":1,1,1:float16").values[0]));
}

// One more voxel than 2^31 - 1, and not one byte of them.
TEST(FieldFile, MoreVoxelsThanNumbersOf32BitsCount) {
  auto const path = written("big.npy", numpy_file("'|u1'", "False", "(2048, 1024, 1024)", ""));
  refuse(path, {"2147483648 voxels, out of range (2^31 - 1"});
}

TEST(FieldFile, SomePlanesOfAnyFormat) {
  auto const zyx = bytes_of(values_zyx<double>()), xyz = bytes_of(values_xyz<double>());
  auto const values = values_xyz<double>();
  auto const h5 = path_of("planes.h5");
  auto two = values;
  two.insert(two.begin(), values.size(), 0.0);
  auto file = hdf5::File::create(h5, h5);
  file.create_dataset("two", hdf5::Number::float64, {2, kX, kY, kZ})
      .write(std::span<double const>(two));
  file.close();
  std::vector<std::pair<std::string, std::string>> const all{
      {written("c.npy", numpy_file("'<f8'", "False", "(2, 3, 4)", xyz)), "xyz"},
      {written("f.npy", numpy_file("'<f8'", "True", "(2, 3, 4)", zyx)), "xyz"},
      {written("z.npy", numpy_file("'<f8'", "False", "(4, 3, 2)", zyx)), "zyx"},
      {written("x.raw", xyz) + ":2,3,4:float64", "xyz"},
      {h5 + ":/two[1]", "xyz"}};
  for (std::int64_t const x : {0, 1}) {
    auto const from = values.begin() + x * kY * kZ;
    std::vector<double> const expected(from, from + kY * kZ);
    for (auto const& [location, axes] : all) {
      auto const wanted = [&](Grid3 const& grid) { return Planes{grid.voxels[0] - 2 + x, 1}; };
      auto const field = read_voxel_field(location, {.axes = axes, .planes = wanted});
      EXPECT_EQ(field.values, expected) << location;
    }
  }
}

TEST(FieldFile, AxesAreNamedAsTheFormatCountsThem) {
  // array[z, y, x] of shape (4, 3, 2)
  auto const path =
      written("zyx.npy", numpy_file("'<f8'", "False", "(4, 3, 2)", bytes_of(values_zyx<double>())));
  expect_field(read_voxel_field(path, {.axes = "zyx"}), "zyx");
  EXPECT_EQ(read_voxel_field(path).grid.name(), "4x3x2");
  // The same in Fortran order: memory has array[z, y, x]'s first index, z, fastest.
  auto const fortran =
      written("zyxf.npy", numpy_file("'<f8'", "True", "(4, 3, 2)", bytes_of(values_xyz<double>())));
  expect_field(read_voxel_field(fortran, {.axes = "zyx"}), "zyx in Fortran order");
  // A cyclic order differs from its inverse: array[y, z, x].
  std::vector<double> yzx;
  for (std::int64_t y = 0; y < kY; ++y) {
    for (std::int64_t z = 0; z < kZ; ++z) {
      for (std::int64_t x = 0; x < kX; ++x) yzx.push_back(value_at(x, y, z));
    }
  }
  auto const raw = written("yzx.raw", bytes_of(yzx));
  expect_field(read_voxel_field(raw + ":3,4,2:float64", {.axes = "yzx"}), "yzx");
  for (std::string const axes : {"", "xy", "xyy", "xyzz", "abc"}) {
    refuse(raw + ":3,4,2:float64", {"'" + axes + "'", "zyx"}, {.axes = axes});
  }
}

TEST(FieldFile, RawNumbersWithTheirShape) {
  auto const path = written("a:b.raw", bytes_of(values_xyz<float>()));  // a colon ends nothing
  expect_field(read_voxel_field(path + ":2,3,4:float32"), "float32");
  expect_field(read_voxel_field(path + ":2, 3, 4:float32"), "with blanks");
  expect_field(
      read_voxel_field(written("i.raw", bytes_of(values_xyz<std::int32_t>())) + ":2,3,4:int32"),
      "int32");
  auto const big = written("big.raw", reversed_bytes(values_xyz<std::uint16_t>()));
  expect_field(read_voxel_field(big + ":2,3,4:uint16be"), "uint16be");
  refuse(path + ":2,3,5:float32", {path, "96 bytes", "[2, 3, 5]", "120"});
  refuse(path + ":2,3,3:float32", {"96 bytes", "72"});
  refuse(path + ":2,3,4:float64", {"96 bytes", "192"});
  refuse(path + ":2,3,4:float128", {"'float128'", "float32, float64, int8"});
  refuse(path + ":2,12:float32", {"2 axes"});
  refuse(path + ":2,-3,4:float32", {"'-3'"});
  refuse(path + ":0,3,4:float32", {"'0'"});
  refuse(path + ":3000000,3000000,3000000:float32", {"out of range"});
  refuse("none.raw:2,3,4:float32", {"none.raw", "no such file"});
}

TEST(FieldFile, Hdf5DatasetsByPath) {
  ArchiveWriter writer;
  writer.add("mine/single", values_xyz<float>(), {2, 3, 4});
  writer.add("integers", values_xyz<std::int64_t>(), {2, 3, 4});
  std::vector<double> two(24, -1.0);
  auto const second = values_xyz<double>();
  two.insert(two.end(), second.begin(), second.end());
  writer.add("samples", two, {2, 2, 3, 4});
  writer.add("flat", second, {6, 4});
  auto const path = path_of("a.h5");
  writer.save(path);
  expect_field(read_voxel_field(path + ":/mine/single"), "float32");
  expect_field(read_voxel_field(path + ":/integers"), "int64");
  expect_field(read_voxel_field(path + ":/samples[1]"), "sample 1");
  refuse(path + ":/samples", {"[2, 2, 3, 4]", ":/samples[0]"});
  refuse(path + ":/samples[2]", {"no entry 2"});
  refuse(path + ":/samples[x]", {"brackets"});
  refuse(path + ":/integers[0]", {"[2, 3, 4]"});
  refuse(path + ":/flat", {"[6, 4]", "[nx, ny, nz]"});
  refuse(path + ":/nu", {path, "/nu", "It holds: /flat, /integers, /mine/single, /samples"});
  refuse("none.h5:/nu", {"none.h5", "no such file"});
  refuse(written("text.h5", "no HDF5") + ":/nu", {"text.h5", "HDF5"});
}

TEST(FieldFile, Hdf5FilesAlone) {
  auto const path = path_of("alone.h5");
  ArchiveWriter one;
  one.add("group/k", values_xyz<double>(), {2, 3, 4});
  one.save(path);
  expect_field(read_voxel_field(path), "the only one");
  expect_field(read_voxel_field(path + ":group/k"), "without the first slash");
  ArchiveWriter two;
  two.add("b", values_xyz<double>(), {2, 3, 4});
  two.add("a", std::vector<double>(24, -1.0), {2, 3, 4});
  two.save(path);
  refuse(path, {path + ": holds the datasets /a, /b. Name one, e.g. " + path + ":/a."});
  refuse(path + ":/", {"holds the datasets"});
  two.add("nu", values_xyz<double>(), {2, 3, 4});
  two.save(path);
  expect_field(read_voxel_field(path), "nu");
  refuse(path + ":x", {"there is no dataset /x"});
  refuse("none.hdf5", {"none.hdf5", "no such file"});
}

TEST(FieldFile, Hdf5DatasetsByLinks) {
  auto const path = path_of("links.h5"), other = path_of("linked.h5");
  for (auto const& name : {path, other}) {
    ArchiveWriter writer;
    writer.add("mine/single", values_xyz<float>(), {2, 3, 4});
    writer.save(name);
  }
  hid_t const file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  auto const soft = [&](char const* target, char const* name) {
    ASSERT_GE(H5Lcreate_soft(target, file, name, H5P_DEFAULT, H5P_DEFAULT), 0);
  };
  soft("/mine/single", "nu");
  soft("/mine", "yours");
  soft("/nothing", "broken");
  ASSERT_GE(H5Lcreate_hard(file, "mine/single", file, "twin", H5P_DEFAULT, H5P_DEFAULT), 0);
  ASSERT_GE(
      H5Lcreate_external("linked.h5", "/mine/single", file, "elsewhere", H5P_DEFAULT, H5P_DEFAULT),
      0);
  ASSERT_GE(H5Lcreate_external("none.h5", "/nu", file, "away", H5P_DEFAULT, H5P_DEFAULT), 0);
  H5Fclose(file);
  for (char const* name : {":/nu", ":/yours/single", ":/twin", ":/mine/single"}) {
    expect_field(read_voxel_field(path + name), name);
  }
  VoxelFieldOptions const external{.external = External::allowed};
  expect_field(read_voxel_field(path + ":/elsewhere", external), "elsewhere");
  refuse(path + ":/elsewhere", {"takes values from another file, linked.h5:/mine/single"});
  refuse(path + ":/broken", {"the link /broken leads to /nothing, which is not there"});
  refuse(path + ":/mine", {"there is no dataset /mine."});
  refuse(path + ":/broken/nu", {"the link /broken leads to /nothing, which is not there"});
  refuse(path + ":/away", {"the link /away leads to /nu in none.h5, which is not there"}, external);
  refuse(path + ":/away", {"takes values from another file, none.h5:/nu"});
}

// Of numbers that nobody stored, as chunks need no room until they are written.
TEST(FieldFile, Hdf5ShapesWhoseProductOverflows) {
  auto const path = path_of("wide.h5");
  hid_t const file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  std::array<hsize_t, 3> const extents{274177, 67280421310721, 1}, chunk{1, 1, 1};
  hid_t const spatial = H5Screate_simple(3, extents.data(), nullptr);
  hid_t const layout = H5Pcreate(H5P_DATASET_CREATE);
  ASSERT_GE(H5Pset_chunk(layout, 3, chunk.data()), 0);
  hid_t const dataset =
      H5Dcreate2(file, "nu", H5T_IEEE_F32LE, spatial, H5P_DEFAULT, layout, H5P_DEFAULT);
  ASSERT_GE(dataset, 0);
  H5Dclose(dataset);
  H5Pclose(layout);
  H5Sclose(spatial);
  H5Fclose(file);
  refuse(path + ":/nu", {"wide.h5:/nu", "67280421310721", "out of range"});
}

TEST(FieldFile, TextThatIsSeveral) {
  auto const path = path_of("texts.vtkhdf");
  hid_t const file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t const group = H5Gcreate2(file, "VTKHDF", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  hid_t const type = H5Tcopy(H5T_C_S1);
  ASSERT_GE(H5Tset_size(type, 9), 0);
  hsize_t const count = 6000;
  hid_t const spatial = H5Screate_simple(1, &count, nullptr);
  hid_t const attribute = H5Acreate2(group, "Type", type, spatial, H5P_DEFAULT, H5P_DEFAULT);
  ASSERT_GE(H5Awrite(attribute, type, std::string(9 * count, 'x').data()), 0);
  H5Aclose(attribute);
  H5Sclose(spatial);
  H5Tclose(type);
  H5Gclose(group);
  H5Fclose(file);
  refuse(path, {"texts.vtkhdf", "Type", "not one text"});
}

TEST(FieldFile, DamagedNumpyFiles) {
  auto const numbers = bytes_of(values_xyz<float>());
  auto const whole = numpy_file("'<f4'", "False", "(2, 3, 4)", numbers);
  auto const npy = [&](std::string const& bytes) { return written("bad.npy", bytes); };
  refuse(npy("text"), {"bad.npy", "no NumPy file"});
  refuse(npy(whole.substr(0, 9)), {"damaged"});
  refuse(npy(whole.substr(0, 60)), {"damaged"});
  refuse(npy(whole.substr(0, whole.size() - 1)), {"95 bytes", "96"});
  refuse(npy(whole + "x"), {"97 bytes", "96"});
  refuse(npy(numpy_file("'<f3'", "False", "(2, 3, 4)", numbers)), {"'<f3'", "float32, float64"});
  refuse(npy(numpy_file("'|u2'", "False", "(2, 3, 4)", numbers)), {"'|u2'"});
  refuse(npy(numpy_file("'<c8'", "False", "(2, 3, 2)", numbers)), {"'<c8'"});
  refuse(npy(numpy_file("[('a', '<f4')]", "False", "(2, 3, 4)", numbers)), {"type of number"});
  refuse(npy(numpy_file("'<f4'", "False", "(6, 4)", numbers)), {"(6, 4)", "three axes"});
  refuse(npy(numpy_file("'<f4'", "False", "(24,)", numbers)), {"(24,)", "three axes"});
  refuse(npy(numpy_file("'<f4'", "False", "(0, 3, 4)", "")), {"[0, 3, 4]"});
}

TEST(FieldFile, UnknownFormatsNameTheKnown) {
  for (std::string const location : {"", "nu.dat", "nu.h5x", ":/", "nu.raw:2,3,4"}) {
    refuse(location, {"'" + location + "'", "FILE.npy", "FILE.h5:/path"});
  }
}

TEST(FieldFile, VoxelsAreCubesUnlessTold) {
  auto const raw = written("s.raw", bytes_of(values_xyz<double>())) + ":2,3,4:float64";
  EXPECT_THAT(read_voxel_field(raw).grid.lengths, ElementsAre(0.5, 0.75, 1.0));
  EXPECT_THAT(read_voxel_field(raw, {.spacing = {{2.0, 3.0, 0.5}}}).grid.lengths,
              ElementsAre(4.0, 9.0, 2.0));
  EXPECT_THAT(parse_spacing("--spacing", "1, 2,3e-1"), ElementsAre(1.0, 2.0, 0.3));
  EXPECT_THAT(parse_spacing("--spacing", "0.5"), ElementsAre(0.5, 0.5, 0.5));
  for (char const* text : {"", "1, 2", "1, 2, 0", "1, -2, 1", "1, 2, x", "nan", "inf"}) {
    EXPECT_THAT([&] { parse_spacing("--spacing", text); },
                ThrowsMessage<Error>(HasSubstr("--spacing = '" + std::string(text) + "'")));
  }
}

TEST(FieldFile, UnsoundCoefficientsAreCountedAndPlaced) {
  Grid3 const grid{{2, 3, 4}, {1.0, 1.0, 1.0}};
  std::vector<double> values(24, 1.0);
  values[0] = 0.0;
  EXPECT_NO_THROW(require_not_negative("nu", grid, values));
  values[23] = -2.0;
  values[12 + 4 + 3] = -0.5;
  values[22] = std::numeric_limits<double>::quiet_NaN();
  values[21] = std::numeric_limits<double>::quiet_NaN();
  values[20] = std::numeric_limits<double>::infinity();
  EXPECT_THAT([&] { require_not_negative("my nu", grid, values); },
              ThrowsMessage<Error>(
                  ::testing::AllOf(HasSubstr("my nu"), HasSubstr("(x, y, z) = (1, 1, 3)"),
                                   HasSubstr("2 negative, 2 not a number, 1 infinite, of 24"))));
  EXPECT_THAT([&] { require_finite("f", grid, values); },
              ThrowsMessage<Error>(::testing::AllOf(HasSubstr("2 not a number, 1 infinite, of 24"),
                                                    HasSubstr("(1, 2, 0)"))));
  values.assign(24, -1.0);
  EXPECT_NO_THROW(require_finite("f", grid, values));
}

}  // namespace field_file_test
}  // namespace voxcycle
