// SPDX-License-Identifier: BSD-3-Clause
#include "network/norm_rows.hpp"

namespace voxcycle::norm_rows {

Table const& table() {
  static Table const& chosen = [&]() -> Table const& {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
      return avx512::table();
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2::table();
#endif
    return baseline::table();
  }();
  return chosen;
}

}  // namespace voxcycle::norm_rows
