// SPDX-License-Identifier: BSD-3-Clause
// That NumPy, h5py and VTK read these files is shown by tests/e2e/solve_vtk.py.
#include "voxcycle/io/solution_file.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/io/field_file.hpp"

#include <cstring>
#include <string>
#include <vector>

#include "shard_files.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace solution_file_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<double> counted(std::int64_t count) {
  std::vector<double> values;
  for (std::int64_t k = 0; k < count; ++k) values.push_back(static_cast<double>(k));
  return values;
}

struct Example {
  Grid3 grid{{2, 3, 4}, {1.0, 6.0, 2.0}};
  std::vector<double> u = counted(3 * 4 * 5);
  std::vector<double> nu = counted(2 * 3 * 4);
  std::vector<double> flux = counted(2 * 3 * 4 * 3);

  std::string save(std::string const& name) const {
    auto const path = fresh_directory("solution") + "/" + name;
    write_solution(path, {.grid = grid,
                          .u = u,
                          .nu = nu,
                          .flux = flux,
                          .converged = true,
                          .relative_residual = 1e-9,
                          .origin = {1.0, 2.0, 3.0},
                          .figures = {{"iterations", 7.0}}});
    return path;
  }
};

TEST(SolutionFile, NumpyHoldsU) {
  Example const example;
  auto const path = example.save("u.npy");
  auto const field = read_voxel_field(path);
  EXPECT_EQ(field.grid.name(), "3x4x5");
  EXPECT_EQ(field.values, example.u);
  auto const bytes = slurp(path);
  EXPECT_EQ(bytes.size() % 64, example.u.size() * 8 % 64) << "numbers begin at a multiple of 64";
}

TEST(SolutionFile, Hdf5HoldsAll) {
  Example const example;
  auto const path = example.save("u.h5");
  EXPECT_EQ(read_voxel_field(path + ":/u").values, example.u);
  auto const nu = read_voxel_field(path);
  EXPECT_EQ(nu.values, example.nu) << "what solve --nu takes of it";
  std::vector<double> const second(example.flux.begin() + 36, example.flux.end());
  EXPECT_EQ(read_voxel_field(path + ":/flux[1]").values, second);
}

/// The numbers of an array in a .vti file, by its offset behind the mark of the data.
std::vector<double> appended(std::string const& file, std::string const& name) {
  auto const at = file.find("Name=\"" + name + "\"");
  auto const offset = std::stoul(file.substr(file.find("offset=\"", at) + 8));
  auto const* const data = file.data() + file.find("\n_") + 2 + offset;
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, data, sizeof bytes);
  std::vector<double> values(bytes / sizeof(double));
  std::memcpy(values.data(), data + sizeof bytes, bytes);
  return values;
}

TEST(SolutionFile, VtiHasXFastest) {
  Example const example;
  auto const file = slurp(example.save("u.vti"));
  EXPECT_THAT(file, AllOf(HasSubstr("WholeExtent=\"0 2 0 3 0 4\""), HasSubstr("Origin=\"1 2 3\""),
                          HasSubstr("Spacing=\"0.5 2 0.5\""), HasSubstr("\"iterations\"")));
  auto const u = appended(file, "u"), nu = appended(file, "nu"), flux = appended(file, "flux");
  ASSERT_EQ(u.size(), 60U);
  EXPECT_EQ(u[1], 20.0) << "the next in x";
  EXPECT_EQ(u[3], 5.0) << "the next in y";
  EXPECT_EQ(u[12], 1.0) << "the next in z";
  ASSERT_EQ(nu.size(), 24U);
  EXPECT_EQ(nu[1], 12.0);
  ASSERT_EQ(flux.size(), 72U);
  EXPECT_EQ(flux[1], 1.0) << "components stay together";
  EXPECT_EQ(flux[3], 36.0) << "the next in x";
}

TEST(SolutionFile, OtherNamesAreRefused) {
  Example const example;
  EXPECT_THAT([&] { example.save("u.vtk"); }, ThrowsMessage<Error>(HasSubstr(".vti, .h5, .npy")));
  EXPECT_NO_THROW(require_solution_format("--out", "u.npy", false));
  EXPECT_NO_THROW(require_solution_format("--out", "u.vti", true));
  EXPECT_THAT([] { require_solution_format("--out", "u.npy", true); },
              ThrowsMessage<Error>(HasSubstr("--out u.npy: this format holds u alone")));
}

TEST(SolutionFile, AFullDiskLeavesNothing) {
  Example const example;
  for (std::string const name : {"u.npy", "u.vti", "u.h5"}) {
    SmallDisk const limit(300);
    EXPECT_THROW(example.save(name), Error) << name;
    EXPECT_TRUE(std::filesystem::is_empty(std::string(VOXCYCLE_TEST_SCRATCH) + "/solution"))
        << name;
  }
}

}  // namespace solution_file_test
}  // namespace voxcycle
