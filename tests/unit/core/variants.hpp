// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/instruction_set.hpp"

#include <vector>

namespace voxcycle::testing {

/// A table of loops as compiled for one instruction set.
template <class Table>
struct Variant {
  char const* name;
  Table const& table;
};

/// Those that this processor runs, plainest first.
template <class Table>
std::vector<Variant<Table>> variants(Table const& (*baseline)(), Table const& (*avx2)(),
                                     Table const& (*avx512)()) {
  std::vector<Variant<Table>> all{{"baseline", baseline()}};
  if (supported(InstructionSet::avx2)) all.push_back({"avx2", avx2()});
  if (supported(InstructionSet::avx512)) all.push_back({"avx512", avx512()});
  return all;
}

}  // namespace voxcycle::testing
