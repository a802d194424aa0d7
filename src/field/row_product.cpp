// SPDX-License-Identifier: BSD-3-Clause
#include "field/row_product.hpp"

namespace voxcycle {
namespace {

#if defined(__x86_64__)
// The instruction sets that src/cmake/Modules.cmake compiles kernels for.
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

RowProductVariant const* row_product_variants() {
  static RowProductVariant const variants[row_product_variant_count] = {
      {"avx512", has_avx512(), avx512::multiply_rows},
      {"avx2", has_avx2(), avx2::multiply_rows},
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
