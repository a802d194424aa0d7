// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/error.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace voxcycle {

/// A list with one entry per level; a single one stands for all.
/// @throws Error naming the key `name` on another length.
template <class Value>
std::vector<Value> one_per_level(std::string const& name, std::vector<Value> values,
                                 std::size_t levels) {
  if (values.size() == 1) values.assign(levels, values.front());
  VOXCYCLE_REQUIRE(values.size() == levels, name << " has " << values.size() << " entries for "
                                                 << levels << " levels. Give one, or one a level.");
  return values;
}

}  // namespace voxcycle
