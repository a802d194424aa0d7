// SPDX-License-Identifier: BSD-3-Clause
#include "network/norm_rows.hpp"

#include "voxcycle/core/instruction_set.hpp"

namespace voxcycle::norm_rows {

Table const& table() {
  switch (best_instruction_set()) {
    case InstructionSet::avx512:
      return avx512::table();
    case InstructionSet::avx2:
      return avx2::table();
    case InstructionSet::baseline:
      break;
  }
  return baseline::table();
}

}  // namespace voxcycle::norm_rows
