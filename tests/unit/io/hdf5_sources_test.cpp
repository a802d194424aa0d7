// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/io/field_file.hpp"

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "shard_files.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

namespace voxcycle {
namespace hdf5_sources_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<double> const kValues{1, 2, 3, 4, 5, 6, 7, 8};

/// In a directory of its own, which the working directory is not.
std::string path_of(std::string const& name) {
  static std::string const directory = fresh_directory("hdf5_sources");
  return directory + "/" + name;
}

void refuse(std::string const& location, std::string const& text) {
  EXPECT_THAT([&] { read_voxel_field(location); }, ThrowsMessage<Error>(HasSubstr(text)));
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
  EXPECT_EQ(read_voxel_field(path_of("v.h5") + ":/nu").values, kValues);
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
  EXPECT_EQ(read_voxel_field(path_of("outer.h5") + ":/nu").values,
            (std::vector<double>{1, 2, 3, 4, 1, 2, 3, 4}));
  std::filesystem::remove(path_of("in.h5"));
  refuse(path_of("outer.h5") + ":/nu", "takes values from in.h5, a file that is missing");
}

TEST(Hdf5Sources, OfExternalNumbersAreThere) {
  auto const numbers = path_of("numbers.raw");
  hid_t const creation = H5Pcreate(H5P_DATASET_CREATE);
  ASSERT_GE(H5Pset_external(creation, numbers.c_str(), 0, 64), 0);
  make_dataset(path_of("e.h5"), {2, 2, 2}, creation, kValues.data());
  H5Pclose(creation);
  EXPECT_EQ(read_voxel_field(path_of("e.h5") + ":/nu").values, kValues);
  std::filesystem::resize_file(numbers, 63);
  refuse(path_of("e.h5") + ":/nu", "numbers.raw, a file that is too short");
  std::filesystem::remove(numbers);
  refuse(path_of("e.h5") + ":/nu", "numbers.raw, a file that is missing");
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
