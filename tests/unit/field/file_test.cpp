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
namespace file_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Grid3 const kFine{{4, 6, 8}, {1.0, 1.0, 1.0}};

/// No sum of functions of one coordinate each: a mean over any other voxels than a block's differs.
float value(std::int64_t sample, std::int64_t x, std::int64_t y, std::int64_t z) {
  return static_cast<float>(1 + sample * 1000 + (7 * x + 1) * (3 * y + 1) * (z + 2));
}

/// Three samples; `change` may spoil them.
FamilyOptions options_of(std::function<void(std::int64_t, std::vector<float>&)> const& change = {},
                         int* opened = nullptr) {
  FamilyOptions options;
  options.name = "file";
  options.file.location = "mine.h5:/nu";
  options.file.open = [=](std::string const& location, std::string const&) -> VoxelArrays {
    EXPECT_EQ(location, "mine.h5:/nu");
    if (opened != nullptr) ++*opened;
    return {kFine, 3, [=](std::int64_t index, std::int64_t first, std::int64_t count) {
              std::vector<float> values;
              for (std::int64_t k = 0; k < kFine.voxel_count(); ++k) {
                values.push_back(value(index, k / 48, k / 8 % 6, k % 8));
              }
              if (change) change(index, values);
              EXPECT_GE(first, 0);
              EXPECT_LE(first + count, 4);
              auto const from = values.begin() + 48 * first;
              return std::vector<float>(from, std::min(from + 48 * count, values.end()));
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
  Grid3 const grid{{2, 3, 4}, {1, 1, 1}};
  auto const nu = evaluate(*family, {1.0}, grid);
  std::vector<double> means(nu.size(), 0.0);
  for (std::int64_t k = 0; k < kFine.voxel_count(); ++k) {
    std::int64_t const x = k / 48;
    std::int64_t const y = k / 8 % 6;
    std::int64_t const z = k % 8;
    std::int64_t const place = (x / 2 * 3 + y / 2) * 4 + z / 2;
    means[static_cast<std::size_t>(place)] += value(1, x, y, z) / 8.0;
  }
  for (std::size_t k = 0; k < nu.size(); ++k) EXPECT_FLOAT_EQ(nu[k], means[k]) << k;
}

TEST(File, ReadsASlabAtATime) {
  auto options = options_of([](std::int64_t sample, std::vector<float>& all) {
    if (sample == 2) all[48 * 3 + 8 * 5 + 1] = 0.0F;
  });
  auto const whole = make_family(options);
  auto const open = options.file.open;
  std::vector<std::int64_t> counts;
  options.file.open = [&](std::string const& location, std::string const& phases) {
    auto arrays = open(location, phases);
    return VoxelArrays{arrays.grid, arrays.samples,
                       [&counts, arrays](auto index, auto first, auto count) {
                         counts.push_back(count);
                         return arrays.read(index, first, count);
                       }};
  };
  options.file.slab_voxels = 100;  // two planes have 96
  auto const in_slabs = make_family(options);
  for (Grid3 const& grid : {kFine, Grid3{{2, 3, 4}, {1, 1, 1}}}) {
    EXPECT_EQ(evaluate(*in_slabs, {1.0}, grid), evaluate(*whole, {1.0}, grid));
  }
  EXPECT_THAT(counts, ::testing::ElementsAre(2, 2, 2, 2));
  EXPECT_THAT([&] { evaluate(*in_slabs, {2.0}, kFine); },
              ThrowsMessage<Error>(HasSubstr("(3, 5, 1)")));
}

TEST(File, RefusesGridsThatDoNotDivideItsOwnByOneNumber) {
  auto const family = make_family(options_of());
  for (Grid3 const& grid : {Grid3{{8, 12, 16}, {1, 1, 1}}, Grid3{{4, 4, 8}, {1, 1, 1}},
                            Grid3{{4, 2, 1}, {1, 1, 1}}, Grid3{{2, 6, 8}, {1, 1, 1}}}) {
    EXPECT_THAT([&] { evaluate(*family, {0.0}, grid); },
                ThrowsMessage<Error>(AllOf(HasSubstr("mine.h5:/nu"), HasSubstr("4x6x8"),
                                           HasSubstr(grid.name()), HasSubstr("same ratio"))));
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

TEST(File, FloorRaisesZerosBeforeBlocksAreAveraged) {
  auto options = options_of([](std::int64_t, std::vector<float>& all) {
    for (auto& x : all) x = x < 40.0F ? 0.0F : 1.0F;
  });
  EXPECT_THAT([&] { evaluate(*make_family(options), {0.0}, kFine); },
              ThrowsMessage<Error>(HasSubstr("Set data.floor")));
  options.file.floor = 0.25;
  auto const family = make_family(options);
  EXPECT_EQ(family->signature(), "file(mine.h5:/nu, floor=0.25)") << "shards of other floors";
  auto const fine = evaluate(*family, {0.0}, kFine);
  for (std::int64_t k = 0; k < kFine.voxel_count(); ++k) {
    float const given = value(0, k / 48, k / 8 % 6, k % 8);
    EXPECT_EQ(fine[static_cast<std::size_t>(k)], given < 40.0F ? 0.25F : 1.0F);
  }
  auto const means = evaluate(*family, {0.0}, Grid3{{2, 3, 4}, {1, 1, 1}});
  EXPECT_EQ(means[0], 0.4375F) << "six of eight are below";
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
  EXPECT_THAT([&] { make_family(options); }, ThrowsMessage<Error>(HasSubstr("Give data.file")));
  auto const wrong_size =
      make_family(options_of([](std::int64_t, std::vector<float>& all) { all.pop_back(); }));
  EXPECT_THROW(evaluate(*wrong_size, {0.0}, kFine), Error);
}

}  // namespace file_test
}  // namespace voxcycle
