// SPDX-License-Identifier: BSD-3-Clause
// Loops whose numbers are constants, so that what a GPU's thread indexes by them stays in
// registers.
#pragma once

#include "voxcycle/core/host_device.hpp"

#include <type_traits>
#include <utility>

namespace voxcycle {

/// body(i) for i from 0 to count - 1, each a std::integral_constant: decltype(i)::value.
template <int count, class Body>
VOXCYCLE_BOTH __attribute__((always_inline)) inline void unrolled(Body const& body) {
  [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, i>()), ...);
  }
  (std::make_integer_sequence<int, count>());
}

}  // namespace voxcycle
