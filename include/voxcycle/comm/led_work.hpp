// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace voxcycle {

/// Work that the first process does, and parts of which all processes do together: before each the
/// first one announces it in numbers, for which the others are waiting.
class LedWork {
 public:
  using Numbers = std::vector<std::int64_t>;

  /// @param comm   null: there are no others
  /// @param count  of the numbers that are announced
  LedWork(Communicator const* comm, std::size_t count) : comm_(comm), count_(count) {}

  /// The first process does `work`; the others do for each announcement `take_part` until it is
  /// done. **Collective**. @throws what the work threw as Error, on all of them.
  void lead(std::function<void()> const& work,
            std::function<void(Numbers const&)> const& take_part) const;
  /// Within the work, before what all do.
  void announce(Numbers const& numbers) const;

 private:
  Communicator const* comm_;
  std::size_t count_;
};

}  // namespace voxcycle
