// SPDX-License-Identifier: BSD-3-Clause
#include "network/layers/tap_sums.hpp"

namespace voxcycle::tap_sums {

Table const& table() {
  return from_best(baseline::table, avx2::table, avx512::table);
}

}  // namespace voxcycle::tap_sums
