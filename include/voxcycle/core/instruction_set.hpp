// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// In a namespace with a struct Table of loops: table(), the one for this processor, and those of
/// each instruction set, which src/<module>/kernels/ makes.
#define VOXCYCLE_KERNEL_TABLES \
  Table const& table();        \
  namespace baseline {         \
  Table const& table();        \
  }                            \
  namespace avx2 {             \
  Table const& table();        \
  }                            \
  namespace avx512 {           \
  Table const& table();        \
  }

namespace voxcycle {

/// The instruction sets that hot kernels are compiled for (voxcycle_kernel in
/// src/cmake/Modules.cmake), plainest first.
enum class InstructionSet {
  baseline,
  avx2,    ///< AVX2 and FMA
  avx512,  ///< AVX-512 F, VL, BW and DQ
};

/// Whether this processor has it.
bool supported(InstructionSet set);
/// The widest that this processor has.
InstructionSet best_instruction_set();

/// Whether this processor multiplies bfloat16 numbers: elsewhere they are slower than float32.
bool has_bfloat16();

/// What the function for best_instruction_set() returns. The others are not even called: code for
/// another processor may not run here at all.
template <class Result>
Result from_best(Result (*baseline)(), Result (*avx2)(), Result (*avx512)()) {
  switch (best_instruction_set()) {
    case InstructionSet::avx512:
      return avx512();
    case InstructionSet::avx2:
      return avx2();
    case InstructionSet::baseline:
      break;
  }
  return baseline();
}

}  // namespace voxcycle
