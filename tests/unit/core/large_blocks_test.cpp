// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/large_blocks.hpp"

#include "voxcycle/core/memory.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace voxcycle {
namespace {

std::size_t const kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
constexpr std::size_t kMebibyte = std::size_t{1} << 20;

/// @return whether the first `bytes` of the block are `value`.
bool holds(void const* block, char value, std::size_t bytes) {
  auto const* const first = static_cast<char const*>(block);
  return std::all_of(first, first + bytes, [&](char c) { return c == value; });
}

TEST(LargeBlocks, AFreedBlockServesTheNextOfItsSize) {
  LargeBlocks blocks;
  void* const a = blocks.take(10 * kPage);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a) % kPage, 0U);
  std::memset(a, 7, 10 * kPage);
  blocks.give(a, 10 * kPage);
  EXPECT_EQ(blocks.free(), 10 * kPage);
  void* const b = blocks.take(10 * kPage - 5);  // in whole pages the same
  EXPECT_EQ(b, a);
  EXPECT_TRUE(holds(b, 7, 10 * kPage));
  EXPECT_EQ(std::make_pair(blocks.used(), blocks.free()),
            std::make_pair(10 * kPage, std::size_t{0}));
  blocks.give(b, 10 * kPage - 5);
  EXPECT_EQ(blocks.used(), 0U);
}

TEST(LargeBlocks, ALargerBlockIsCut) {
  LargeBlocks blocks;
  void* const a = blocks.take(10 * kPage);
  std::memset(a, 7, 10 * kPage);
  blocks.give(a, 10 * kPage);
  void* const b = blocks.take(4 * kPage);
  void* const c = blocks.take(6 * kPage);
  EXPECT_TRUE(holds(b, 7, 4 * kPage));
  EXPECT_TRUE(holds(c, 7, 6 * kPage));
  EXPECT_EQ(blocks.free(), 0U);
  blocks.give(b, 4 * kPage);
  blocks.give(c, 6 * kPage);
}

TEST(LargeBlocks, ASmallerBlockGrowsAndKeepsItsPages) {
  LargeBlocks blocks;
  void* const a = blocks.take(4 * kPage);
  void* const between = blocks.take(kPage);
  std::memset(a, 7, 4 * kPage);
  blocks.give(a, 4 * kPage);
  void* const b = blocks.take(10 * kPage);
  EXPECT_TRUE(holds(b, 7, 4 * kPage));
  std::memset(b, 8, 10 * kPage);
  EXPECT_EQ(blocks.free(), 0U);
  blocks.give(b, 10 * kPage);
  blocks.give(between, kPage);
}

TEST(LargeBlocks, HoldNoMoreThanWasInUseAtOnce) {
  LargeBlocks blocks;
  std::mt19937 random(1);
  std::int64_t const before = resident_bytes();
  std::vector<std::pair<void*, std::size_t>> taken;
  std::size_t used = 0, most = 0;
  for (int k = 0; k < 2000; ++k) {
    if (!taken.empty() && (taken.size() == 12 || random() % 2 == 0)) {
      std::swap(taken[random() % taken.size()], taken.back());
      auto const [block, bytes] = taken.back();
      blocks.give(block, bytes);
      used -= bytes;
      taken.pop_back();
    } else {
      std::size_t const bytes = (1 + random() % 40) * 16 * kPage;
      taken.emplace_back(std::memset(blocks.take(bytes), 1, bytes), bytes);
      used += bytes;
      most = std::max(most, used);
    }
    ASSERT_EQ(blocks.used(), used);
    ASSERT_LE(used + blocks.free(), most);
    auto const others = static_cast<std::int64_t>(4 * kMebibyte);
    ASSERT_LE(resident_bytes() - before, static_cast<std::int64_t>(used + blocks.free()) + others);
  }
  EXPECT_GT(most, 10 * kMebibyte);
  for (auto const& [block, bytes] : taken) blocks.give(block, bytes);
}

TEST(LargeBlocks, ReleaseGivesFreeOnesBack) {
  LargeBlocks blocks;
  std::size_t const bytes = 64 * kMebibyte;
  void* const kept = blocks.take(kPage);
  void* const block = blocks.take(bytes);
  std::memset(block, 1, bytes);
  blocks.give(block, bytes);
  std::int64_t const before = resident_bytes();
  blocks.release();
  EXPECT_NEAR(before - resident_bytes(), bytes, 4 * kMebibyte);
  EXPECT_EQ(std::make_pair(blocks.used(), blocks.free()), std::make_pair(kPage, std::size_t{0}));
  blocks.give(kept, kPage);
}

TEST(LargeBlocks, TooLargeOnes) {
  LargeBlocks blocks;
  void* const a = blocks.take(kPage);
  blocks.give(a, kPage);
  EXPECT_THROW(blocks.take(std::size_t{1} << 60), std::bad_alloc);
  EXPECT_EQ(blocks.used(), 0U);
  void* const b = blocks.take(2 * kPage);
  ASSERT_NE(b, nullptr);
  blocks.give(b, 2 * kPage);
}

TEST(LargeBlocks, ThreadsGetBlocksOfTheirOwn) {
  LargeBlocks blocks;
  auto const work = [&](char id, bool& right) {
    std::mt19937 random(static_cast<unsigned>(id));
    for (int k = 0; k < 2000; ++k) {
      std::size_t const bytes = (1 + random() % 20) * kPage;
      void* const block = std::memset(blocks.take(bytes), id, bytes);
      right = right && holds(block, id, bytes);
      blocks.give(block, bytes);
    }
  };
  bool first = true, second = true;
  std::thread other(work, 1, std::ref(first));
  work(2, second);
  other.join();
  EXPECT_TRUE(first);
  EXPECT_TRUE(second);
  EXPECT_EQ(blocks.used(), 0U);
}

}  // namespace
}  // namespace voxcycle
