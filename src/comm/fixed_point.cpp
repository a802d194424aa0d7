// SPDX-License-Identifier: BSD-3-Clause
#include "comm/fixed_point.hpp"

#include "voxcycle/core/instruction_set.hpp"

namespace voxcycle::fixed_point {

Table const& table() {
  return from_best(baseline::table, avx2::table, avx512::table);
}

}  // namespace voxcycle::fixed_point
