// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/io/checkpoint_file.hpp"
#include "voxcycle/io/field_file.hpp"
#include "voxcycle/io/shard.hpp"
#include "voxcycle/io/solution_file.hpp"
#include "voxcycle/io/voxel_set.hpp"

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "shard_files.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

namespace voxcycle {
namespace hdf5_sources_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<double> const kValues{1, 2, 3, 4, 5, 6, 7, 8};

/// In a directory of its own, which the working directory is not.
std::string path_of(std::string const& name) {
  static std::string const directory = fresh_directory("hdf5_sources");
  return directory + "/" + name;
}

VoxelFieldOptions const kExternal{.external = External::allowed};

void refuse(std::string const& location, std::string const& text) {
  EXPECT_THAT([&] { read_voxel_field(location, kExternal); },
              ThrowsMessage<Error>(HasSubstr(text)));
}

/// The field takes values from another file: refused unless that is allowed.
void expect_external(std::string const& location, std::string const& from,
                     std::vector<double> const& values) {
  EXPECT_THAT([&] { read_voxel_field(location); },
              ThrowsMessage<Error>(AllOf(HasSubstr("takes values from another file, " + from),
                                         HasSubstr("--external"))));
  EXPECT_THROW(VoxelSet{location}, Error) << location;
  EXPECT_EQ(read_voxel_field(location, kExternal).values, values) << location;
}

/// Makes dataset /nu of `extents` in a new file.
void make_dataset(std::string const& path, std::vector<hsize_t> const& extents, hid_t creation,
                  double const* values) {
  hid_t const file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t const shape = H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
  hid_t const dataset =
      H5Dcreate2(file, "nu", H5T_NATIVE_DOUBLE, shape, H5P_DEFAULT, creation, H5P_DEFAULT);
  ASSERT_GE(dataset, 0);
  if (values != nullptr) {
    ASSERT_GE(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), 0);
  }
  H5Dclose(dataset);
  H5Sclose(shape);
  H5Fclose(file);
}

/// A virtual dataset [2, 2, 2] of the planes in two files.
void make_virtual(std::string const& path, std::vector<std::string> const& sources) {
  std::array<hsize_t, 3> const whole{2, 2, 2}, one{1, 2, 2};
  std::array<hsize_t, 2> const plane{2, 2};
  hid_t const shape = H5Screate_simple(3, whole.data(), nullptr);
  hid_t const source_shape = H5Screate_simple(2, plane.data(), nullptr);
  hid_t const creation = H5Pcreate(H5P_DATASET_CREATE);
  for (hsize_t k = 0; k < 2; ++k) {
    std::array<hsize_t, 3> const start{k, 0, 0};
    H5Sselect_hyperslab(shape, H5S_SELECT_SET, start.data(), nullptr, one.data(), nullptr);
    ASSERT_GE(H5Pset_virtual(creation, shape, sources[k].c_str(), "nu", source_shape), 0);
  }
  make_dataset(path, {2, 2, 2}, creation, nullptr);
  H5Pclose(creation);
  H5Sclose(source_shape);
  H5Sclose(shape);
}

TEST(Hdf5Sources, OfVirtualDatasetsAreThere) {
  make_dataset(path_of("a.h5"), {2, 2}, H5P_DEFAULT, kValues.data());
  make_dataset(path_of("b.h5"), {2, 2}, H5P_DEFAULT, kValues.data() + 4);
  make_virtual(path_of("v.h5"), {"a.h5", path_of("b.h5")});
  expect_external(path_of("v.h5") + ":/nu", "a.h5:/nu", kValues);
  std::filesystem::rename(path_of("a.h5"), path_of("c.h5"));
  refuse(path_of("v.h5") + ":/nu", "v.h5: nu: takes values from a.h5, a file that is missing");
  std::filesystem::rename(path_of("c.h5"), path_of("a.h5"));
  spit(path_of("b.h5"), "no HDF5");
  refuse(path_of("v.h5") + ":/nu", "b.h5, a file that does not open as HDF5");
  hid_t const file = H5Fcreate(path_of("b.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(file);
  refuse(path_of("v.h5") + ":/nu", "b.h5:/nu, a dataset that is missing");
}

TEST(Hdf5Sources, OfVirtualDatasetsOfVirtualDatasetsAreThere) {
  make_dataset(path_of("in.h5"), {2, 2}, H5P_DEFAULT, kValues.data());
  make_virtual(path_of("middle.h5"), {"in.h5", "in.h5"});
  hid_t const creation = H5Pcreate(H5P_DATASET_CREATE);
  std::array<hsize_t, 3> const whole{2, 2, 2};
  hid_t const shape = H5Screate_simple(3, whole.data(), nullptr);
  ASSERT_GE(H5Pset_virtual(creation, shape, "middle.h5", "nu", shape), 0);
  make_dataset(path_of("outer.h5"), {2, 2, 2}, creation, nullptr);
  H5Sclose(shape);
  H5Pclose(creation);
  expect_external(path_of("outer.h5") + ":/nu", "middle.h5:/nu", {1, 2, 3, 4, 1, 2, 3, 4});
  std::filesystem::remove(path_of("in.h5"));
  refuse(path_of("outer.h5") + ":/nu", "takes values from in.h5, a file that is missing");
}

TEST(Hdf5Sources, OfExternalNumbersAreThere) {
  auto const numbers = path_of("numbers.raw");
  hid_t const creation = H5Pcreate(H5P_DATASET_CREATE);
  ASSERT_GE(H5Pset_external(creation, numbers.c_str(), 0, 64), 0);
  make_dataset(path_of("e.h5"), {2, 2, 2}, creation, kValues.data());
  H5Pclose(creation);
  expect_external(path_of("e.h5") + ":/nu", "/", kValues);
  std::filesystem::resize_file(numbers, 63);
  refuse(path_of("e.h5") + ":/nu", "numbers.raw, a file that is too short");
  std::filesystem::remove(numbers);
  refuse(path_of("e.h5") + ":/nu", "numbers.raw, a file that is missing");
}

/// In a new file: /nu, which leads to /nu of `target`, and /soft and /group/nu, which lead there.
void make_links(std::string const& path, std::string const& target) {
  hid_t const file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  ASSERT_GE(H5Lcreate_external(target.c_str(), "/nu", file, "nu", H5P_DEFAULT, H5P_DEFAULT), 0);
  ASSERT_GE(H5Lcreate_external(target.c_str(), "/", file, "group", H5P_DEFAULT, H5P_DEFAULT), 0);
  ASSERT_GE(H5Lcreate_soft("/nu", file, "soft", H5P_DEFAULT, H5P_DEFAULT), 0);
  H5Fclose(file);
}

TEST(Hdf5Sources, ExternalLinksAreFollowedWhereThatIsAllowed) {
  make_dataset(path_of("far.h5"), {2, 2, 2}, H5P_DEFAULT, kValues.data());
  make_links(path_of("links.h5"), "far.h5");
  for (std::string const name : {"nu", "soft", "group/nu"}) {
    expect_external(path_of("links.h5") + ":/" + name, "far.h5:/", kValues);
  }
}

/// Of an array in the file itself that is made of one behind an external link.
TEST(Hdf5Sources, VirtualDatasetsReachNoOtherFileByWayOfTheirOwn) {
  make_dataset(path_of("far.h5"), {2, 2, 2}, H5P_DEFAULT, kValues.data());
  make_virtual(path_of("by_link.h5"), {".", "."});
  hid_t const file = H5Fopen(path_of("by_link.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  ASSERT_GE(H5Lmove(file, "nu", file, "made", H5P_DEFAULT, H5P_DEFAULT), 0);
  ASSERT_GE(H5Lcreate_external("far.h5", "/nu", file, "nu", H5P_DEFAULT, H5P_DEFAULT), 0);
  H5Fclose(file);
  EXPECT_THAT([&] { read_voxel_field(path_of("by_link.h5") + ":/made"); },
              ThrowsMessage<Error>(HasSubstr("takes values from another file, far.h5:/nu")));
}

TEST(Hdf5Sources, OfTheFileItselfAreNoOtherFile) {
  make_dataset(path_of("own.h5"), {2, 2, 2}, H5P_DEFAULT, kValues.data());
  hid_t const file = H5Fopen(path_of("own.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  std::array<hsize_t, 3> const whole{2, 2, 2};
  hid_t const shape = H5Screate_simple(3, whole.data(), nullptr);
  hid_t const creation = H5Pcreate(H5P_DATASET_CREATE);
  ASSERT_GE(H5Pset_virtual(creation, shape, ".", "nu", shape), 0);
  H5Dclose(H5Dcreate2(file, "made", H5T_NATIVE_DOUBLE, shape, H5P_DEFAULT, creation, H5P_DEFAULT));
  ASSERT_GE(H5Lcreate_soft("/nu", file, "soft", H5P_DEFAULT, H5P_DEFAULT), 0);
  H5Pclose(creation);
  H5Sclose(shape);
  H5Fclose(file);
  for (std::string const name : {"nu", "soft", "made"}) {
    EXPECT_EQ(read_voxel_field(path_of("own.h5") + ":/" + name).values, kValues) << name;
  }
}

/// Puts a link to far.h5 in the place of an object.
void replace_by_link(std::string const& path, std::string const& name) {
  hid_t const file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Ldelete(file, name.c_str(), H5P_DEFAULT);
  ASSERT_GE(H5Lcreate_external("far.h5", "/nu", file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT), 0);
  H5Fclose(file);
}

/// One that does not would show another file as its own.
TEST(Hdf5Sources, ShardsAndCheckpointsHoldTheirValuesThemselves) {
  auto const throws = [](std::string const& text) {
    return ThrowsMessage<Error>(HasSubstr(text + ": takes values from another file, "));
  };
  auto const shard = path_of("shard.h5");
  write_small_shard(shard, small_info());
  replace_by_link(shard, "nu");
  EXPECT_THAT([&] { ShardReader const reader(shard); }, throws("shard.h5: nu"));

  auto const archive = path_of("archive.h5");
  ArchiveWriter writer;
  writer.add("values", std::span<double const>(kValues), {8});
  writer.save(archive);
  hid_t const creation = H5Pcreate(H5P_DATASET_CREATE);
  ASSERT_GE(H5Pset_external(creation, "numbers.raw", 0, 64), 0);
  hid_t const file = H5Fopen(archive.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Ldelete(file, "values", H5P_DEFAULT);
  hsize_t const eight = 8;
  hid_t const shape = H5Screate_simple(1, &eight, nullptr);
  H5Dclose(H5Dcreate2(file, "values", H5T_IEEE_F64LE, shape, H5P_DEFAULT, creation, H5P_DEFAULT));
  H5Sclose(shape);
  H5Fclose(file);
  H5Pclose(creation);
  ArchiveReader const reader(archive);
  EXPECT_THAT([&] { reader.read_double("values"); }, throws("archive.h5: values"));
}

TEST(Hdf5Sources, VtkhdfIsNoOtherFileEither) {
  make_dataset(path_of("far.h5"), {2, 2, 2}, H5P_DEFAULT, kValues.data());
  auto const path = path_of("image.vtkhdf");
  std::vector<double> const u(27, 0.0);
  write_solution(path, {.grid = {{2, 2, 2}, {1.0, 1.0, 1.0}}, .u = u, .nu = kValues});
  replace_by_link(path, "VTKHDF/CellData/nu");
  expect_external(path, "far.h5:/nu", {1, 5, 3, 7, 2, 6, 4, 8});  // z first
}

// What a library of another time writes: a message of a version that this one does not know.
TEST(Hdf5Sources, FilesOfNewerLibrariesAreNotCalledDamaged) {
  auto const path = path_of("new.h5");
  make_dataset(path, {2, 2, 2}, H5P_DEFAULT, kValues.data());
  auto bytes = slurp(path);
  std::string const type("\x11\x20\x3f\x00\x08\x00\x00\x00", 8);  // version 1, float64
  auto const place = bytes.find(type);
  ASSERT_NE(place, std::string::npos);
  bytes[place] = '\x51';  // version 5
  spit(path, bytes);
  refuse(path + ":/nu", "is of a newer HDF5 than the 1.");
  refuse(path + ":/nu", "libver=('earliest', 'v110')");
}

TEST(Hdf5Sources, DeadLinksOfTheFileSystemSayWhereTheyLead) {
  std::filesystem::create_symlink("nowhere.h5", path_of("dead.h5"));
  refuse(path_of("dead.h5") + ":/nu", "is a link to nowhere.h5, where there is no such file");
  std::filesystem::create_symlink("nowhere.npy", path_of("dead.npy"));
  refuse(path_of("dead.npy"), "is a link to nowhere.npy, where there is no such file");
}

}  // namespace hdf5_sources_test
}  // namespace voxcycle
