// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>

namespace voxcycle {

/// Values [begin, begin + count) of a field along x, y and z.
struct Box {
  std::array<std::int64_t, 3> begin{};
  std::array<std::int64_t, 3> count{};

  std::int64_t size() const { return count[0] * count[1] * count[2]; }
};

}  // namespace voxcycle
