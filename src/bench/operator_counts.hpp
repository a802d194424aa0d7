// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>

namespace voxcycle {

/// What the host did: on coarse grids its work, not that of the voxels, decides a step's time.
struct OperatorCounts {
  std::int64_t operators = 0;   ///< of torch, those inside of others, too
  std::int64_t copies = 0;      ///< of these: from tensor to tensor
  std::int64_t host_waits = 0;  ///< of these: for a number that the host reads
};

/// Of all threads, while the work is under way.
OperatorCounts count_operators(std::function<void()> const& work);

}  // namespace voxcycle
