// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device.hpp"
#include "voxcycle/core/error.hpp"

#include "comm/fixed_point_device.hpp"

namespace voxcycle::fixed_point::on_gpu {
namespace {

[[noreturn]] void refuse() {
  throw Error("gradient sums: a gradient is on a GPU, but this voxcycle was " + cuda_problem({}));
}

}  // namespace

at::Tensor largest_pattern(at::Tensor const& /*x*/) {
  refuse();
}

void add(at::Tensor const& /*x*/, double /*scale*/, at::Tensor const& /*fixed*/) {
  refuse();
}

void to_floating(at::Tensor const& /*fixed*/, double /*quantum*/, at::Tensor const& /*x*/) {
  refuse();
}

}  // namespace voxcycle::fixed_point::on_gpu
