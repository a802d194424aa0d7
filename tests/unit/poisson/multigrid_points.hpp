// SPDX-License-Identifier: BSD-3-Clause
// What GPUs do element by element, played on the CPU.
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include "poisson/operator/node_points.hpp"
#include <ATen/core/Tensor.h>

namespace voxcycle::testing {

template <class Job>
void play(std::int64_t count, Job const& job) {
  for (std::int64_t i = count; i-- > 0;) job(i);
}

inline FieldSize node_size(Grid3 const& grid) {
  return {static_cast<int>(grid.nodes(0)), static_cast<int>(grid.nodes(1)),
          static_cast<int>(grid.nodes(2))};
}

}  // namespace voxcycle::testing
