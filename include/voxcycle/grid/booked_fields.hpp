// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/ledger.hpp"
#include "voxcycle/grid/grid3.hpp"

#include <cstdint>

namespace voxcycle {

/// Books fields of one value a node or voxel in a ledger: for plans of what a computation holds.
struct BookedFields {
  Ledger& ledger;
  Grid3 grid;
  std::int64_t samples = 1;
  std::int64_t bytes = 4;  ///< of a value

  Ledger::Held nodes(std::int64_t fields = 1) const { return hold(fields * grid.node_count()); }
  Ledger::Held voxels(std::int64_t fields = 1) const { return hold(fields * grid.voxel_count()); }
  BookedFields coarsened() const { return {ledger, grid.coarsened(), samples, bytes}; }
  /// One sample's, for what all samples share.
  BookedFields common() const { return {ledger, grid, 1, bytes}; }

 private:
  Ledger::Held hold(std::int64_t points) const {
    return ledger.hold("workspace of " + grid.label(), samples * points * bytes);
  }
};

}  // namespace voxcycle
