// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/instruction_set.hpp"

#include <initializer_list>

namespace voxcycle {

bool supported(InstructionSet set) {
  switch (set) {
    case InstructionSet::baseline:
      return true;
#if defined(__x86_64__)
    case InstructionSet::avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case InstructionSet::avx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
#else
    case InstructionSet::avx2:
    case InstructionSet::avx512:
      break;
#endif
  }
  return false;
}

InstructionSet best_instruction_set() {
  static InstructionSet const best = [] {
    for (auto set : {InstructionSet::avx512, InstructionSet::avx2}) {
      if (supported(set)) return set;
    }
    return InstructionSet::baseline;
  }();
  return best;
}

bool has_bfloat16() {
#if defined(__x86_64__)
  return supported(InstructionSet::avx512) && __builtin_cpu_supports("avx512bf16");
#else
  return false;
#endif
}

}  // namespace voxcycle
