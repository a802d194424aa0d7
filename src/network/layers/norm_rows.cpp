// SPDX-License-Identifier: BSD-3-Clause
#include "network/layers/norm_rows.hpp"

namespace voxcycle::norm_rows {

Table const& table() {
  return from_best(baseline::table, avx2::table, avx512::table);
}

}  // namespace voxcycle::norm_rows
