// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/operator/energy_rows.hpp"

namespace voxcycle::energy_rows {

Table const& table() {
  return from_best(baseline::table, avx2::table, avx512::table);
}

}  // namespace voxcycle::energy_rows
