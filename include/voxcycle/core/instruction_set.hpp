// SPDX-License-Identifier: BSD-3-Clause
#pragma once

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

}  // namespace voxcycle
