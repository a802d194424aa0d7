// SPDX-License-Identifier: BSD-3-Clause
// That VTK itself reads these files is shown by tests/e2e/solve_vtk.py.
#include "voxcycle/core/error.hpp"
#include "voxcycle/io/checkpoint_file.hpp"
#include "voxcycle/io/field_file.hpp"
#include "voxcycle/io/solution_file.hpp"

#include <string>
#include <vector>

#include "shard_files.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace vtkhdf_file_test {

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

  std::string save(std::string const& name) const {
    auto const path = fresh_directory("vtkhdf") + "/" + name;
    write_solution(path, {.grid = grid,
                          .u = u,
                          .nu = nu,
                          .converged = true,
                          .relative_residual = 1e-9,
                          .figures = {{"iterations", 7.0}}});
    return path;
  }
};

TEST(VtkhdfFile, ItsCoefficientReadsBack) {
  Example const example;
  auto const path = example.save("a.vtkhdf");
  for (char const* name : {"", ":nu", ":/VTKHDF/CellData/nu"}) {
    auto const field = read_voxel_field(path + name);
    EXPECT_EQ(field.values, example.nu);
    EXPECT_EQ(field.grid, example.grid);  // spacing from the file
  }
  EXPECT_EQ(read_voxel_field(path, {.spacing = {{1.0, 1.0, 1.0}}}).grid.lengths[1], 3.0);
}

TEST(VtkhdfFile, ZIsTheSlowestAxisInTheFile) {
  Example const example;
  auto const path = example.save("a.vtkhdf");
  auto const raw = read_voxel_field(path + ":nu");
  // As a plain dataset the same array is [z, y, x].
  std::filesystem::copy_file(path, path + ".h5");
  auto const plain = read_voxel_field(path + ".h5:/VTKHDF/CellData/nu", {.axes = "zyx"});
  EXPECT_EQ(plain.values, raw.values);
  auto const u = read_voxel_field(path + ".h5:/VTKHDF/PointData/u");
  EXPECT_EQ(u.grid.name(), "5x4x3");
  EXPECT_EQ(u.values[1], 4.0 * 5.0);  // the next in x
  EXPECT_EQ(u.values[3], 5.0);        // the next in y
  EXPECT_EQ(u.values[12], 1.0);       // the next in z
  EXPECT_EQ(plain.grid.name(), "2x3x4");
}

TEST(VtkhdfFile, HoldsTheSpreadOfAnEnsemble) {
  Example const example;
  auto const path = fresh_directory("vtkhdf") + "/spread.vtkhdf";
  write_solution(path, {.grid = example.grid, .u = example.u, .spread = example.u});
  std::filesystem::copy_file(path, path + ".h5");
  auto const of = [&](std::string const& name) {
    return read_voxel_field(path + ".h5:/VTKHDF/PointData/" + name).values;
  };
  EXPECT_EQ(of("spread"), of("u"));
}

TEST(VtkhdfFile, RefusesWhatIsNoImage) {
  Example const example;
  auto const path = example.save("a.vtkhdf");
  auto const refuse = [](std::string const& location, std::string const& text) {
    EXPECT_THAT([&] { read_voxel_field(location); }, ThrowsMessage<Error>(HasSubstr(text)));
  };
  auto const bare = fresh_directory("vtkhdf_bare") + "/u.vtkhdf";
  write_solution(bare, {.grid = example.grid, .u = example.u});
  refuse(bare, "no cell array 'nu'. It holds: none");
  refuse(path + ":mu", "no cell array 'mu'. It holds: nu");
  EXPECT_THAT([&] { read_voxel_field(path, {.axes = "zyx"}); },
              ThrowsMessage<Error>(HasSubstr("Leave out the axes")));
  ArchiveWriter writer;
  writer.add("nu", counted(8), {2, 2, 2});
  writer.save(path);
  refuse(path, "no group /VTKHDF");
  refuse("none.vtkhdf", "no such file");
}

TEST(VtkhdfFile, WrongSizesAndAFullDiskLeaveNothing) {
  Example example;
  auto const path = fresh_directory("vtkhdf") + "/full.vtkhdf";
  {
    SmallDisk const limit(1500);
    EXPECT_THAT(
        [&] { write_solution(path, {.grid = example.grid, .u = example.u, .nu = example.nu}); },
        ThrowsMessage<Error>(HasSubstr("File too large")));
  }
  example.u.pop_back();
  EXPECT_THAT(
      [&] { write_solution(path, {.grid = example.grid, .u = example.u, .nu = example.nu}); },
      ThrowsMessage<Error>(HasSubstr("3x4x5")));
  EXPECT_TRUE(std::filesystem::is_empty(std::filesystem::path(path).parent_path()));
}

}  // namespace vtkhdf_file_test
}  // namespace voxcycle
