// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/operator/row_loops.hpp"

namespace voxcycle::row_loops {

Table const& table() {
  return from_best(baseline::table, avx2::table, avx512::table);
}

}  // namespace voxcycle::row_loops
