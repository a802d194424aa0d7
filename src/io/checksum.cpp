// SPDX-License-Identifier: BSD-3-Clause
#include "io/checksum.hpp"

#include <bit>

#include <zlib.h>

namespace voxcycle {

static_assert(std::endian::native == std::endian::little,
              "files hold little-endian numbers, and checksums are over these bytes");

std::uint32_t crc32_of(void const* bytes, std::size_t count, std::uint32_t start) {
  if (count == 0) return start;  // zlib takes a null pointer for a request of the initial value
  return static_cast<std::uint32_t>(crc32_z(start, static_cast<Bytef const*>(bytes), count));
}

}  // namespace voxcycle
