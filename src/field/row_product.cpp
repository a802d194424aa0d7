// SPDX-License-Identifier: BSD-3-Clause
#include "field/row_product.hpp"

#include "voxcycle/core/instruction_set.hpp"

namespace voxcycle {

RowProductVariant const* row_product_variants() {
  static RowProductVariant const variants[row_product_variant_count] = {
      {"avx512", supported(InstructionSet::avx512), avx512::multiply_rows},
      {"avx2", supported(InstructionSet::avx2), avx2::multiply_rows},
      {"baseline", true, baseline::multiply_rows},
  };
  return variants;
}

void multiply_rows(RowProduct const& job) {
  static auto const run = [] {
    RowProductVariant const* variant = row_product_variants();
    while (!variant->supported) ++variant;
    return variant->run;
  }();
  run(job);
}

}  // namespace voxcycle
