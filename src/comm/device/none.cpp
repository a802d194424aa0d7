// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/no_element_launch.hpp"

#include "comm/exact_sum_columns.hpp"
#include "comm/fixed_point_device.hpp"

namespace voxcycle {
namespace {

[[noreturn]] void refuse() {
  throw Error("gradient sums: a gradient is on a GPU, but this voxcycle was " + cuda_problem({}));
}

}  // namespace

namespace fixed_point::on_gpu {

at::Tensor largest_patterns(at::Tensor const& /*rows*/, SegmentTable const& /*segments*/) {
  refuse();
}

at::Tensor sums(at::Tensor const& /*rows*/, SegmentTable const& /*segments*/) {
  refuse();
}

at::Tensor to_floating(at::Tensor const& /*sums*/, SegmentTable const& /*segments*/,
                       at::ScalarType /*dtype*/) {
  refuse();
}

}  // namespace fixed_point::on_gpu

template struct ElementLaunches<exact_columns::Jobs>;

}  // namespace voxcycle
