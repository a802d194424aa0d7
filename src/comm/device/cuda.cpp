// SPDX-License-Identifier: BSD-3-Clause
#include "comm/fixed_point_device.hpp"
#include "comm/largest_launch.hpp"
#include <ATen/ATen.h>

namespace voxcycle::fixed_point::on_gpu {
namespace {

Segments segments_of(SegmentTable const& table, std::int64_t row_size) {
  return {table.values.const_data_ptr<std::int64_t>(), table.values.size(1), row_size};
}

DeviceStream queue_of(at::Tensor const& x) {
  return current_queue(x.device().index());
}

}  // namespace

at::Tensor largest_patterns(at::Tensor const& rows, SegmentTable const& segments) {
  at::Tensor largest = at::empty({segments.values.size(1)}, segments.values.options());
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "largest_patterns", [&] {
    launch_largest(queue_of(rows), LargestJob<scalar_t>{segments_of(segments, rows.size(1)),
                                                        rows.const_data_ptr<scalar_t>(),
                                                        largest.mutable_data_ptr<std::int64_t>()});
  });
  return largest;
}

at::Tensor sums(at::Tensor const& rows, SegmentTable const& segments) {
  at::Tensor sums = at::empty({segments.size}, segments.values.options());
  AT_DISPATCH_FLOATING_TYPES(rows.scalar_type(), "fixed_point_sums", [&] {
    launch_elements(
        "fixed-point sums", queue_of(rows), segments.size,
        SumJob<scalar_t>{segments_of(segments, rows.size(1)), rows.const_data_ptr<scalar_t>(),
                         sums.mutable_data_ptr<std::int64_t>()});
  });
  return sums;
}

at::Tensor to_floating(at::Tensor const& sums, SegmentTable const& segments, at::ScalarType dtype) {
  at::Tensor x = at::empty({segments.size}, sums.options().dtype(dtype));
  AT_DISPATCH_FLOATING_TYPES(dtype, "to_floating", [&] {
    launch_elements(
        "numbers of fixed-point sums", queue_of(sums), segments.size,
        ToFloatingJob<scalar_t>{segments_of(segments, 0), sums.const_data_ptr<std::int64_t>(),
                                x.mutable_data_ptr<scalar_t>()});
  });
  return x;
}

}  // namespace voxcycle::fixed_point::on_gpu
