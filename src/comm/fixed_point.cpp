// SPDX-License-Identifier: BSD-3-Clause
#include "comm/fixed_point.hpp"

namespace voxcycle::fixed_point {

Table const& table() {
  return from_best(baseline::table, avx2::table, avx512::table);
}

}  // namespace voxcycle::fixed_point
