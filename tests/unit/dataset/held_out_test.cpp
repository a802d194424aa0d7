// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/dataset/prefetch.hpp"

#include "shards_on_disk.hpp"
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

TEST(HeldOut, ReadsAllOrTheFirstSamples) {
  ShardSet shards(shards_on_disk("all", 5, true));
  for (std::int64_t most : {-1, 0, 3, 5, 9}) {
    HeldOutSet const set = read_held_out(shards, most);
    std::int64_t const count = most < 0 ? 5 : std::min<std::int64_t>(most, 5);
    EXPECT_TRUE(set.grid == shards.info().grid);
    ASSERT_EQ(set.omega.sizes(), (at::IntArrayRef{count, 1}));
    ASSERT_EQ(set.nu.sizes(), (at::IntArrayRef{count, 1, 2, 3, 4}));
    ASSERT_EQ(set.u_ref.sizes(), (at::IntArrayRef{count, 1, 3, 4, 5}));
    auto const index = at::arange(count, at::kDouble).view({count, 1});
    EXPECT_TRUE(at::equal(set.omega, 0.5 * index));
    EXPECT_TRUE(at::equal(set.nu.reshape({count, 24}),
                          (100 * (index + 1) + at::arange(24, at::kDouble)).to(at::kFloat)));
    EXPECT_TRUE(at::equal(set.u_ref.reshape({count, 60}),
                          -(index + 1) - at::arange(60, at::kDouble) / 100.0));
  }
}

TEST(HeldOut, ReadsSourcesWhereTheyAre) {
  ShardSet without(shards_on_disk("no_source", 4, true));
  EXPECT_FALSE(read_held_out(without).f.defined());
  ShardSet with(shards_on_disk("source", 4, true, true));
  auto const f = read_held_out(with, 3).f;
  ASSERT_EQ(f.sizes(), (at::IntArrayRef{3, 1, 2, 3, 4}));
  auto const index = at::arange(3, at::kDouble).view({3, 1});
  EXPECT_TRUE(at::equal(f.flatten(1), (index - at::arange(24, at::kDouble)).to(at::kFloat)));
}

TEST(HeldOut, ShardsWithoutReferencesAreRefused) {
  ShardSet shards(shards_on_disk("none", 4, false));
  EXPECT_THAT([&] { read_held_out(shards); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("no reference solutions")));
}

}  // namespace
}  // namespace voxcycle
