// SPDX-License-Identifier: BSD-3-Clause
#include "energy_rows.hpp"

#include "voxcycle/core/instruction_set.hpp"

namespace voxcycle {

EnergyVariant const* energy_variants() {
  static EnergyVariant const variants[energy_variant_count] = {
      {"avx512", supported(InstructionSet::avx512), avx512::energy_slab, avx512::energy_slab},
      {"avx2", supported(InstructionSet::avx2), avx2::energy_slab, avx2::energy_slab},
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
