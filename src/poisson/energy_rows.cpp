// SPDX-License-Identifier: BSD-3-Clause
#include "energy_rows.hpp"

namespace voxcycle {
namespace {

#if defined(__x86_64__)
bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
}
#else
bool has_avx2() {
  return false;
}
bool has_avx512() {
  return false;
}
#endif

}  // namespace

EnergyVariant const* energy_variants() {
  static EnergyVariant const variants[energy_variant_count] = {
      {"avx512", has_avx512(), avx512::energy_slab, avx512::energy_slab},
      {"avx2", has_avx2(), avx2::energy_slab, avx2::energy_slab},
      {"baseline", true, baseline::energy_slab, baseline::energy_slab},
  };
  return variants;
}

EnergyVariant const& best_energy_variant() {
  EnergyVariant const* variant = energy_variants();
  while (!variant->supported) {
    ++variant;
  }
  return *variant;
}

}  // namespace voxcycle
