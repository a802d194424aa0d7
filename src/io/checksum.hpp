// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace voxcycle {

/// CRC-32 (as in zip and PNG) of `count` bytes, continued from `start`.
std::uint32_t crc32_of(void const* bytes, std::size_t count, std::uint32_t start = 0);

}  // namespace voxcycle
