// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/large_blocks.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <new>

#include <sys/mman.h>

namespace voxcycle {
namespace {

/// Linux lets a process have 65530 by default.
constexpr std::size_t kMaxMappings = 8192;

std::size_t whole_pages(std::size_t bytes) {
  constexpr std::size_t page = LargeBlocks::kPage;
  return (bytes + page - 1) / page * page;
}

/// New pages, at `place` instead of what is mapped there; anywhere if that is nullptr.
char* map(char* place, std::size_t bytes) {
  int const there = place == nullptr ? 0 : MAP_FIXED;
  void* const block =
      ::mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | there, -1, 0);
  if (block == MAP_FAILED) throw std::bad_alloc();
  return static_cast<char*>(block);
}

/// New pages anywhere.
char* map(std::size_t bytes) {
  constexpr std::size_t page = LargeBlocks::kPage;
  char* const around = map(nullptr, bytes + page);  // the system aligns to its small pages alone
  std::size_t const before = page - reinterpret_cast<std::uintptr_t>(around) % page;
  char* const block = around + before;
  ::munmap(around, before);
  if (before < page) ::munmap(block + bytes, page - before);
  return block;
}

}  // namespace

void* LargeBlocks::take(std::size_t bytes) {
  bytes = whole_pages(bytes);
  std::lock_guard<std::mutex> const lock(mutex_);
  auto const same = blocks_.find(bytes);
  char* const block = same != blocks_.end() ? shorten(same, bytes) : assemble(bytes);
  used_ += bytes;
  return block;
}

/// @return a block of the pages of free ones, as far as they go, and of new ones.
char* LargeBlocks::assemble(std::size_t bytes) {
  if (mappings_.size() > kMaxMappings) unmap_free();
  char* const block = map(bytes);
  std::size_t moved = 0;
  while (moved < bytes && !blocks_.empty()) {
    std::size_t const missing = bytes - moved;
    auto from = blocks_.lower_bound(missing);
    if (from == blocks_.end()) --from;
    std::size_t const part = std::min(from->first, missing);
    move_end(from, part, block + moved);
    moved += part;
  }
  if (moved < bytes) mappings_[block + moved] = bytes - moved;
  return block;
}

void LargeBlocks::move_end(Blocks::iterator from, std::size_t bytes, char* to) {
  char* const begin = shorten(from, bytes);
  for (auto m = mapping_at(begin); m != mappings_.end() && m->first < begin + bytes;) {
    auto const [first, size] = *m;
    m = mappings_.erase(m);
    char* const place = to + (first - begin);
    if (::mremap(first, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED) {
      ::munmap(first, size);
      map(place, size);
    }
    mappings_[place] = size;
  }
}

void LargeBlocks::give(void* block, std::size_t bytes) {
  bytes = whole_pages(bytes);
  std::lock_guard<std::mutex> const lock(mutex_);
  blocks_.emplace(bytes, static_cast<char*>(block));
  used_ -= bytes;
  free_ += bytes;
}

void LargeBlocks::release() {
  std::lock_guard<std::mutex> const lock(mutex_);
  unmap_free();
}

void LargeBlocks::unmap_free() {
  for (auto const& [size, begin] : blocks_) {
    mappings_.erase(mapping_at(begin), mapping_at(begin + size));
    ::munmap(begin, size);
  }
  blocks_.clear();
  free_ = 0;
}

/// @return the begin of the last `bytes` of a free block, which it loses.
char* LargeBlocks::shorten(Blocks::iterator block, std::size_t bytes) {
  auto const [size, begin] = *block;
  blocks_.erase(block);
  if (size > bytes) blocks_.emplace(size - bytes, begin);
  free_ -= bytes;
  return begin + (size - bytes);
}

/// @return the first mapping from `place` on; one that begins before it and ends behind it is two
/// from now on.
LargeBlocks::Mappings::iterator LargeBlocks::mapping_at(char* place) {
  auto const next = mappings_.lower_bound(place);
  if (next == mappings_.begin() || (next != mappings_.end() && next->first == place)) return next;
  auto const last = std::prev(next);
  auto const before = static_cast<std::size_t>(place - last->first);
  if (before >= last->second) return next;
  auto const behind = mappings_.emplace_hint(next, place, last->second - before);
  last->second = before;
  return behind;
}

std::size_t LargeBlocks::used() const {
  std::lock_guard<std::mutex> const lock(mutex_);
  return used_;
}

std::size_t LargeBlocks::free() const {
  std::lock_guard<std::mutex> const lock(mutex_);
  return free_;
}

LargeBlocks& large_blocks() {
  static auto* const blocks = new LargeBlocks;  // for ever: torch frees tensors till the very end
  return *blocks;
}

}  // namespace voxcycle
