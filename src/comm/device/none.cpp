// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device.hpp"
#include "voxcycle/core/error.hpp"

#include "comm/exact_sum_device.hpp"
#include "comm/fixed_point_device.hpp"

namespace voxcycle {
namespace {

[[noreturn]] void refuse() {
  throw Error("exact sums: terms are on a GPU, but this voxcycle was " + cuda_problem({}));
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

namespace exact_columns::on_gpu {

void run(int /*device*/, std::int64_t /*columns*/, ExponentJob const& /*job*/) {
  refuse();
}

void run(int /*device*/, std::int64_t /*columns*/, LimbJob const& /*job*/) {
  refuse();
}

void run(int /*device*/, std::int64_t /*columns*/, SumJob const& /*job*/) {
  refuse();
}

}  // namespace exact_columns::on_gpu
}  // namespace voxcycle
