// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/instruction_set.hpp"
#include "voxcycle/core/random.hpp"

#include <cstdint>
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

/// Numbers of both signs, from -0.4 to 0.6.
template <class T = double>
std::vector<T> numbers(std::int64_t count, std::uint64_t seed) {
  std::vector<T> values;
  for (std::int64_t k = 0; k < count; ++k) {
    values.push_back(static_cast<T>(hash_uniform({seed, static_cast<std::uint64_t>(k)}) - 0.4));
  }
  return values;
}

}  // namespace voxcycle::testing
