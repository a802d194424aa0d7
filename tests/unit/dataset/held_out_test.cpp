// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/dataset/held_out.hpp"

#include "voxcycle/core/error.hpp"

#include "shards_on_disk.hpp"
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace held_out_test {

/// Samples [begin, end) of shards_on_disk.
void expect_samples(HeldOutSet const& set, std::int64_t begin, std::int64_t end) {
  std::int64_t const count = end - begin;
  ASSERT_EQ(set.omega.sizes(), (at::IntArrayRef{count, 1}));
  ASSERT_EQ(set.nu.sizes(), (at::IntArrayRef{count, 1, 2, 3, 4}));
  ASSERT_EQ(set.u_ref.sizes(), (at::IntArrayRef{count, 1, 3, 4, 5}));
  auto const index = at::arange(begin, end, at::kDouble).view({count, 1});
  EXPECT_TRUE(at::equal(set.omega, 0.5 * index));
  EXPECT_TRUE(at::equal(set.nu.reshape({count, 24}),
                        (100 * (index + 1) + at::arange(24, at::kDouble)).to(at::kFloat)));
  EXPECT_TRUE(at::equal(set.u_ref.reshape({count, 60}),
                        -(index + 1) - at::arange(60, at::kDouble) / 100.0));
}

TEST(HeldOut, ReadsAllOrSomeSamples) {
  ShardSet shards(shards_on_disk("all", 5, true));
  expect_samples(read_held_out(shards), 0, 5);
  EXPECT_TRUE(read_held_out(shards).grid == shards.info().grid);
  for (auto [begin, end] : {std::pair{0, 0}, {0, 3}, {2, 5}, {4, 5}}) {
    expect_samples(read_held_out(shards, begin, end), begin, end);
  }
  EXPECT_THROW(read_held_out(shards, 0, 6), Error);
  EXPECT_THROW(read_held_out(shards, 3, 2), Error);
}

TEST(HeldOut, ReadsPartsFromShardsAndFromMemory) {
  auto const directory = shards_on_disk("parts", 5, true);
  ShardSet shards(directory);
  for (auto const& samples :
       {held_out_samples(directory), held_out_samples(read_held_out(shards))}) {
    EXPECT_EQ(samples.count, 5);
    EXPECT_TRUE(samples.grid == shards.info().grid);
    for (int round = 0; round < 2; ++round) {
      expect_samples(samples.read(1, 4), 1, 4);
      expect_samples(samples.read(2, 4), 2, 4);
      expect_samples(samples.read(0, 5), 0, 5);
      expect_samples(samples.read(4, 5), 4, 5);
    }
  }
}

TEST(HeldOut, ReadsSourcesWhereTheyAre) {
  ShardSet without(shards_on_disk("no_source", 4, true));
  EXPECT_FALSE(read_held_out(without).f.defined());
  ShardSet with(shards_on_disk("source", 4, true, true));
  auto const f = read_held_out(with, 0, 3).f;
  ASSERT_EQ(f.sizes(), (at::IntArrayRef{3, 1, 2, 3, 4}));
  auto const index = at::arange(3, at::kDouble).view({3, 1});
  EXPECT_TRUE(at::equal(f.flatten(1), (index - at::arange(24, at::kDouble)).to(at::kFloat)));
}

TEST(HeldOut, ShardsWithoutReferencesAreRefused) {
  ShardSet shards(shards_on_disk("none", 4, false));
  EXPECT_THAT([&] { read_held_out(shards); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("no reference solutions")));
}

TEST(HeldOut, SetsBeyondAGibibyteAreNotKept) {
  Grid3 const fine = Grid3::cube(512);
  EXPECT_EQ(held_out_bytes(fine, false), 4L * 512 * 512 * 512 + 8L * 513 * 513 * 513);
  EXPECT_EQ(held_out_bytes(fine, true) - held_out_bytes(fine, false), 4L * 512 * 512 * 512);
  EXPECT_FALSE(held_out_is_kept(held_out_bytes(fine, false)));
  EXPECT_TRUE(held_out_is_kept(32 * held_out_bytes(Grid3::cube(64), true)));
}

}  // namespace held_out_test
}  // namespace voxcycle
