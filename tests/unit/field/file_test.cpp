// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/field/family.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "samples.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

Grid3 const kFine{{4, 6, 8}, {1.0, 1.0, 1.0}};

/// Tells every voxel of every sample apart; sums of eight are exact in float.
float value(std::int64_t sample, std::int64_t x, std::int64_t y, std::int64_t z) {
  return static_cast<float>(1 + sample * 1000 + x * 100 + y * 10 + z);
}

/// Three samples; `change` may spoil them.
FamilyOptions options_of(std::function<void(std::int64_t, std::vector<float>&)> const& change = {},
                         int* opened = nullptr) {
  FamilyOptions options;
  options.name = "file";
  options.file.location = "mine.h5:/nu";
  options.file.open = [=](std::string const& location) -> VoxelArrays {
    EXPECT_EQ(location, "mine.h5:/nu");
    if (opened != nullptr) ++*opened;
    return {kFine, 3, [=](std::int64_t index) {
              std::vector<float> values;
              for (std::int64_t k = 0; k < kFine.voxel_count(); ++k) {
                values.push_back(value(index, k / 48, k / 8 % 6, k % 8));
              }
              if (change) change(index, values);
              return values;
            }};
  };
  return options;
}

TEST(File, GivesTheArraysOnTheirOwnGrid) {
  auto const family = make_family(options_of());
  EXPECT_EQ(family->sample_count(), 3);
  for (std::int64_t index = 0; index < 3; ++index) {
    auto const nu = evaluate(*family, family->omega(99, index), kFine);
    for (std::int64_t k = 0; k < kFine.voxel_count(); ++k) {
      EXPECT_EQ(nu[static_cast<std::size_t>(k)], value(index, k / 48, k / 8 % 6, k % 8));
    }
  }
  EXPECT_EQ(family->omega(1, 2), family->omega(7, 2)) << "the seed has no part in it";
}

TEST(File, CoarserGridsGetTheMeanOfEachBlock) {
  auto const family = make_family(options_of());
  // Means of a function that is linear along each axis are its values amid the block.
  struct Case {
    Grid3 grid;
    std::int64_t block[3];
  };
  for (Case const& c :
       {Case{{{2, 3, 4}, {1, 1, 1}}, {2, 2, 2}}, Case{{{4, 2, 1}, {1, 1, 1}}, {1, 3, 8}}}) {
    auto const nu = evaluate(*family, {1.0}, c.grid);
    auto const [nx, ny, nz] = c.grid.voxels;
    for (std::int64_t x = 0; x < nx; ++x) {
      for (std::int64_t y = 0; y < ny; ++y) {
        for (std::int64_t z = 0; z < nz; ++z) {
          auto const amid = [](std::int64_t i, std::int64_t block) {
            return static_cast<double>(i * block) + 0.5 * static_cast<double>(block - 1);
          };
          double const expected =
              1001 + 100 * amid(x, c.block[0]) + 10 * amid(y, c.block[1]) + amid(z, c.block[2]);
          EXPECT_EQ(nu[static_cast<std::size_t>((x * ny + y) * nz + z)], expected);
        }
      }
    }
  }
}

TEST(File, RefusesGridsThatDoNotDivideItsOwn) {
  auto const family = make_family(options_of());
  for (Grid3 const& grid : {Grid3{{8, 12, 16}, {1, 1, 1}}, Grid3{{4, 4, 8}, {1, 1, 1}}}) {
    EXPECT_THAT([&] { evaluate(*family, {0.0}, grid); },
                ThrowsMessage<Error>(
                    AllOf(HasSubstr("mine.h5:/nu"), HasSubstr("4x6x8"), HasSubstr(grid.name()))));
  }
}

TEST(File, RefusesValuesThatAreNoCoefficientAndNamesTheirPlace) {
  for (float bad : {0.0F, -2.0F, std::nanf(""), std::numeric_limits<float>::infinity()}) {
    auto const family = make_family(options_of([&](std::int64_t sample, std::vector<float>& all) {
      if (sample == 2) all[48 * 3 + 8 * 5 + 1] = bad;
    }));
    EXPECT_NO_THROW(evaluate(*family, {1.0}, kFine));
    EXPECT_THAT([&] { evaluate(*family, {2.0}, kFine); },
                ThrowsMessage<Error>(
                    AllOf(HasSubstr("mine.h5:/nu"), HasSubstr("sample 2"), HasSubstr("(3, 5, 1)"))))
        << bad;
  }
}

TEST(File, IsNotOpenedBeforeItIsNeeded) {
  int opened = 0;
  auto const family = make_family(options_of({}, &opened));
  EXPECT_EQ(family->signature(), "file(mine.h5:/nu)");
  EXPECT_EQ(opened, 0);
  evaluate(*family, family->omega(0, 0), kFine);
  evaluate(*family, family->omega(0, 1), kFine);
  EXPECT_EQ(opened, 1);
}

TEST(File, RefusesWhatItDoesNotHold) {
  auto const family = make_family(options_of());
  EXPECT_THAT([&] { static_cast<void>(family->omega(0, 3)); },
              ThrowsMessage<Error>(HasSubstr("no sample 3, it holds 3")));
  EXPECT_THROW(evaluate(*family, {0.5}, kFine), Error);
  EXPECT_THROW(evaluate(*family, {-1.0}, kFine), Error);
  FamilyOptions options = options_of();
  options.file.location = "";
  EXPECT_THAT([&] { make_family(options); }, ThrowsMessage<Error>(HasSubstr("PATH:/dataset")));
  auto const wrong_size =
      make_family(options_of([](std::int64_t, std::vector<float>& all) { all.pop_back(); }));
  EXPECT_THROW(evaluate(*wrong_size, {0.0}, kFine), Error);
}

}  // namespace
}  // namespace voxcycle
