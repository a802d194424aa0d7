// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace voxcycle {

/// Collective calls of one kind.
struct Calls {
  std::int64_t count = 0;
  std::int64_t bytes = 0;  ///< that this process puts into them

  Calls& operator+=(Calls const& more) {
    count += more.count;
    bytes += more.bytes;
    return *this;
  }
  Calls operator-(Calls const& less) const { return {count - less.count, bytes - less.bytes}; }
  bool operator==(Calls const&) const = default;
};

/// What a process sends.
struct Traffic {
  Calls sums;       ///< all-reduces
  Calls gathers;    ///< all-gathers: what it has to tell the others
  Calls exchanges;  ///< with neighbours: what goes to each of them

  Calls all() const {
    Calls calls = sums;
    calls += gathers;
    return calls += exchanges;
  }
  Traffic operator-(Traffic const& less) const {
    return {sums - less.sums, gathers - less.gathers, exchanges - less.exchanges};
  }
  bool operator==(Traffic const&) const = default;
};

}  // namespace voxcycle
