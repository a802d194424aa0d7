// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/dataset/augmentation.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace augmentation_test {

std::vector<float> numbered(Grid3 const& grid) {
  std::vector<float> field(static_cast<std::size_t>(grid.voxel_count()));
  std::iota(field.begin(), field.end(), 1.0F);
  return field;
}

/// The same by torch.
std::vector<float> turned_by_torch(std::vector<float> field, Grid3 const& grid,
                                   Orientation const& orientation) {
  auto const& n = grid.voxels;
  at::Tensor out = at::from_blob(field.data(), {n[0], n[1], n[2]}, at::kFloat);
  out = out.permute({orientation.axis[0], orientation.axis[1], orientation.axis[2]});
  std::vector<std::int64_t> flipped;
  for (int a = 0; a < 3; ++a) {
    if (orientation.mirrored[static_cast<std::size_t>(a)]) flipped.push_back(a);
  }
  out = out.flip(flipped).contiguous();
  return {out.const_data_ptr<float>(), out.const_data_ptr<float>() + out.numel()};
}

TEST(Augmentation, CountsTheOrientationsThatKeepTheGrid) {
  Grid3 const cube = Grid3::cube(3);
  Grid3 const plate{{4, 4, 2}, {1, 1, 0.5}};
  Grid3 const box{{4, 2, 1}, {1, 0.5, 0.25}};
  Grid3 const stretched{{4, 4, 4}, {1, 1, 2}};
  EXPECT_EQ(orientations(Augmentation::none, cube).size(), 1U);
  EXPECT_EQ(orientations(Augmentation::reflections, cube).size(), 8U);
  EXPECT_EQ(orientations(Augmentation::all, cube).size(), 48U);
  EXPECT_EQ(orientations(Augmentation::all, plate).size(), 16U);
  EXPECT_EQ(orientations(Augmentation::all, box).size(), 8U);
  EXPECT_EQ(orientations(Augmentation::all, stretched).size(), 16U);
  for (auto kind : {Augmentation::none, Augmentation::reflections, Augmentation::all}) {
    EXPECT_EQ(orientations(kind, cube).front(), Orientation{});
  }
}

TEST(Augmentation, EveryOrientationIsAnotherFieldAndTorchsOwn) {
  for (Grid3 const& grid : {Grid3::cube(3), Grid3{{4, 2, 2}, {1, 0.5, 0.5}}}) {
    auto const field = numbered(grid);
    std::set<std::vector<float>> seen;
    for (auto const& orientation : orientations(Augmentation::all, grid)) {
      auto const found = turned(field, grid, orientation);
      EXPECT_EQ(found, turned_by_torch(field, grid, orientation));
      EXPECT_TRUE(seen.insert(found).second);
    }
    EXPECT_EQ(seen.count(field), 1U);
  }
}

TEST(Augmentation, RefusesAnOrientationThatChangesTheGrid) {
  Grid3 const box{{4, 2, 2}, {1, 0.5, 0.5}};
  EXPECT_THROW(turned(numbered(box), box, {{1, 0, 2}, {}}), Error);
  EXPECT_THROW(turned(numbered(box), Grid3::cube(4), {}), Error);
}

}  // namespace augmentation_test
}  // namespace voxcycle
