// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

namespace voxcycle {

/// Samples [begin, end) of a global batch, computed together with the same shapes whoever owns it.
struct Unit {
  std::int64_t index;  ///< number of the unit in the global batch
  std::int64_t begin;
  std::int64_t end;
  std::int64_t size() const { return end - begin; }
  bool operator==(Unit const&) const = default;
};

/// Number of units of `unit_size` samples in a batch; the last one may be smaller.
std::int64_t unit_count(std::int64_t batch, std::int64_t unit_size);

/// The units that `rank` of `ranks` owns: a contiguous share, sizes differing by at most one unit.
///
/// Example: a batch of 7 in units of 2 has the units [0,2) [2,4) [4,6) [6,7); of 3 ranks, rank 0
/// owns the first, rank 1 the second, rank 2 the last two. With more ranks than units some own
/// none.
std::vector<Unit> units_of_rank(std::int64_t batch, std::int64_t unit_size, int ranks, int rank);

}  // namespace voxcycle
