// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/grid/units.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>

namespace voxcycle {

std::int64_t unit_count(std::int64_t batch, std::int64_t unit_size) {
  VOXCYCLE_REQUIRE(batch >= 0 && unit_size > 0,
                   "cannot cut a batch of " << batch << " into units of " << unit_size << '.');
  return (batch + unit_size - 1) / unit_size;
}

std::vector<Unit> units_of_rank(std::int64_t batch, std::int64_t unit_size, int ranks, int rank) {
  VOXCYCLE_REQUIRE(ranks > 0 && rank >= 0 && rank < ranks,
                   "rank " << rank << " of " << ranks << " does not exist.");
  std::int64_t const count = unit_count(batch, unit_size);
  std::vector<Unit> units;
  for (std::int64_t k = count * rank / ranks; k < count * (rank + 1) / ranks; ++k) {
    units.push_back({k, k * unit_size, std::min(batch, (k + 1) * unit_size)});
  }
  return units;
}

}  // namespace voxcycle
