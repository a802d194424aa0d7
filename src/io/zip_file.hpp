// SPDX-License-Identifier: BSD-3-Clause
// Zip archives, as numpy.savez writes them. Source: PKWARE's APPNOTE.TXT 6.3.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/plain_numbers.hpp"

namespace voxcycle {

struct ZipMember {
  std::string name;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;  ///< 0: as it is, 8: deflated
  std::uint32_t checksum = 0;
  std::uint64_t packed = 0;  ///< bytes in the archive
  std::uint64_t bytes = 0;   ///< of the content
  std::uint64_t place = 0;   ///< where its own header begins
};

/// What the archive's directory lists. @throws Error naming `path` for a damaged archive.
std::vector<ZipMember> zip_members(PlainFile& file, std::string const& path);

/// The content of a member. @throws Error for one that is encrypted, packed in another way,
/// truncated or damaged.
std::string read_zip_member(PlainFile& file, std::string const& path, ZipMember const& member);

}  // namespace voxcycle
