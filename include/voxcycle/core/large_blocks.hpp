// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace voxcycle {

/// Blocks of whole pages for fields of many MiB that come and go in every step. Pages of freed
/// blocks are kept, for mapping and zeroing them anew costs more than the kernels that fill them.
/// A block of another size gets them, too: in the page table alone they are moved to where they
/// form one block. New ones are mapped only where no free ones are left, so that no more are held
/// than were in use at once. Thread-safe.
class LargeBlocks {
 public:
  /// Bytes of a page. Linux moves a huge one, or a whole leaf of the page table, as one; smaller
  /// ones it would move one by one, and break up huge pages for it.
  static constexpr std::size_t kPage = std::size_t{2} << 20;

  LargeBlocks() = default;
  LargeBlocks(LargeBlocks const&) = delete;
  LargeBlocks& operator=(LargeBlocks const&) = delete;
  /// Blocks in use stay mapped.
  ~LargeBlocks() { release(); }

  /// @return a block of at least `bytes` (> 0) that begins with a page, with any content.
  /// @throws std::bad_alloc if the system has no memory for it.
  void* take(std::size_t bytes);
  /// Takes back what take(bytes) returned.
  void give(void* block, std::size_t bytes);
  /// Gives all free blocks back to the system.
  void release();

  /// Bytes in whole pages.
  std::size_t used() const;
  std::size_t free() const;

 private:
  using Blocks = std::multimap<std::size_t, char*>;
  using Mappings = std::map<char*, std::size_t>;

  char* assemble(std::size_t bytes);
  void move_end(Blocks::iterator from, std::size_t bytes, char* to);
  void unmap_free();
  char* shorten(Blocks::iterator block, std::size_t bytes);
  Mappings::iterator mapping_at(char* place);

  mutable std::mutex mutex_;
  Blocks blocks_;      ///< free ones by size
  Mappings mappings_;  ///< sizes of what the system can move as one, of blocks in use, too
  std::size_t used_ = 0, free_ = 0;
};

/// Those of this process.
LargeBlocks& large_blocks();

}  // namespace voxcycle
