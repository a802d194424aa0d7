// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>

namespace voxcycle {

/// The values of a contiguous tensor on the CPU, where they lie.
template <class Number = double, class Tensor>
std::span<Number const> values_of(Tensor const& tensor) {
  return {tensor.template const_data_ptr<Number>(), static_cast<std::size_t>(tensor.numel())};
}

}  // namespace voxcycle
