// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/large_blocks.hpp"

#include "voxcycle/core/memory.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace voxcycle {
namespace large_blocks_test {

constexpr std::size_t kPage = LargeBlocks::kPage;
constexpr std::size_t kMebibyte = std::size_t{1} << 20;
constexpr std::size_t kSmallPage = 4096;  ///< of which no system has smaller ones

/// `value` into every small page of the block. @return it
void* fill(void* block, char value, std::size_t bytes) {
  auto* const first = static_cast<char*>(block);
  for (std::size_t k = 0; k < bytes; k += kSmallPage) first[k] = value;
  return block;
}

/// @return whether fill(block, value, bytes) was the last to write there.
bool holds(void const* block, char value, std::size_t bytes) {
  auto const* const first = static_cast<char const*>(block);
  for (std::size_t k = 0; k < bytes; k += kSmallPage) {
    if (first[k] != value) return false;
  }
  return true;
}

TEST(LargeBlocks, AFreedBlockServesTheNextOfItsSize) {
  LargeBlocks blocks;
  void* const a = blocks.take(10 * kPage);
  fill(a, 7, 10 * kPage);
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

TEST(LargeBlocks, BeginWithAPage) {
  LargeBlocks blocks;
  std::vector<void*> taken;
  for (std::size_t k = 1; k <= 8; ++k) {
    taken.push_back(fill(blocks.take(k * kPage + k), 1, k * kPage + k));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(taken.back()) % kPage, 0U);
  }
  for (std::size_t k = 1; k <= 8; ++k) blocks.give(taken[k - 1], k * kPage + k);
  EXPECT_EQ(blocks.free(), (36 + 8) * kPage);
}

TEST(LargeBlocks, ALargerBlockIsCut) {
  LargeBlocks blocks;
  void* const a = blocks.take(10 * kPage);
  fill(a, 7, 10 * kPage);
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
  fill(a, 7, 4 * kPage);
  blocks.give(a, 4 * kPage);
  void* const b = blocks.take(10 * kPage);
  EXPECT_TRUE(holds(b, 7, 4 * kPage));
  fill(b, 8, 10 * kPage);
  EXPECT_EQ(blocks.free(), 0U);
  blocks.give(b, 10 * kPage);
  blocks.give(between, kPage);
}

// AddressSanitizer keeps a byte about each eight.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

TEST(LargeBlocks, HoldNoMoreThanWasInUseAtOnce) {
  LargeBlocks blocks;
  std::mt19937 random(1);
  std::int64_t const before = resident_bytes();
  std::vector<std::pair<void*, std::size_t>> taken;
  std::size_t used = 0, maximum = 0;
  for (int k = 0; k < 2000; ++k) {
    if (!taken.empty() && (taken.size() == 12 || random() % 2 == 0)) {
      std::swap(taken[random() % taken.size()], taken.back());
      auto const [block, bytes] = taken.back();
      blocks.give(block, bytes);
      used -= bytes;
      taken.pop_back();
    } else {
      std::size_t const bytes = (1 + random() % 40) * kPage;
      taken.emplace_back(fill(blocks.take(bytes), 1, bytes), bytes);
      used += bytes;
      maximum = std::max(maximum, used);
    }
    ASSERT_EQ(blocks.used(), used);
    ASSERT_LE(used + blocks.free(), maximum);
    auto const held = static_cast<std::int64_t>(used + blocks.free());
    auto const others = static_cast<std::int64_t>(4 * kMebibyte) + (kSanitized ? held / 8 : 0);
    ASSERT_LE(resident_bytes() - before, held + others);
  }
  EXPECT_GT(maximum, 100 * kMebibyte);
  for (auto const& [block, bytes] : taken) blocks.give(block, bytes);
}

TEST(LargeBlocks, ReleaseGivesFreeOnesBack) {
  LargeBlocks blocks;
  std::size_t const bytes = 64 * kMebibyte;
  void* const kept = blocks.take(kPage);
  void* const block = blocks.take(bytes);
  fill(block, 1, bytes);
  blocks.give(block, bytes);
  std::int64_t const before = resident_bytes();
  blocks.release();
  EXPECT_NEAR(before - resident_bytes(), bytes, 4 * kMebibyte);
  EXPECT_EQ(std::make_pair(blocks.used(), blocks.free()), std::make_pair(kPage, std::size_t{0}));
  blocks.give(kept, kPage);
}

TEST(LargeBlocks, LeaveNoAddressesBehind) {
  auto const small_pages_mapped = [] {
    std::int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages;
  };
  LargeBlocks blocks;
  std::int64_t const before = small_pages_mapped();
  for (std::size_t k = 1; k <= 100; ++k) {
    blocks.give(blocks.take(k * kPage), k * kPage);
    blocks.release();
  }
  EXPECT_LE(small_pages_mapped() - before, 1);
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
      void* const block = fill(blocks.take(bytes), id, bytes);
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

}  // namespace large_blocks_test
}  // namespace voxcycle
