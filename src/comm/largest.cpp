// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/largest.hpp"

#include <ATen/ATen.h>

namespace voxcycle {

std::int64_t largest_of(Communicator const& comm, std::int64_t number) {
  at::Tensor value = at::full({1}, number, at::kLong);
  comm.all_reduce(value, ReduceOperation::max);
  return value.item<std::int64_t>();
}

}  // namespace voxcycle
