// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace voxcycle {

/// Whether nobody else sees the values of a tensor, by itself or by a view: it may be overwritten.
template <class Tensor>
bool is_sole_holder(Tensor const& tensor) {
  return tensor.use_count() == 1 && tensor.storage().use_count() == 1;
}

}  // namespace voxcycle
