// SPDX-License-Identifier: BSD-3-Clause
#include "comm/exact_sum_device.hpp"
#include "comm/fixed_point_device.hpp"
#include "comm/largest_launch.hpp"
#include <ATen/ATen.h>
#include <ATen/DeviceGuard.h>

namespace voxcycle::fixed_point::on_gpu {

at::Tensor largest_pattern(at::Tensor const& x) {
  c10::DeviceGuard const guard(x.device());
  if (x.numel() == 0) return at::zeros({1}, x.options().dtype(at::kLong));
  at::Tensor const all = at::empty({1}, x.options().dtype(at::kLong));
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "largest_pattern", [&] {
    LargestJob<scalar_t> job{x.const_data_ptr<scalar_t>(), x.numel(), largest_chunk, nullptr};
    at::Tensor const chunks = at::empty({job.chunks()}, all.options());
    job.largest = chunks.mutable_data_ptr<std::int64_t>();
    launch_largest(current_queue(x.device().index()), job, all.mutable_data_ptr<std::int64_t>());
  });
  return all;
}

void add(at::Tensor const& x, double scale, at::Tensor const& fixed) {
  c10::DeviceGuard const guard(x.device());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "fixed_point_add", [&] {
    launch_elements("fixed-point sum", current_queue(x.device().index()), x.numel(),
                    AddJob<scalar_t>{x.const_data_ptr<scalar_t>(), scale,
                                     fixed.mutable_data_ptr<std::int64_t>()});
  });
}

void to_floating(at::Tensor const& fixed, double quantum, at::Tensor const& x) {
  c10::DeviceGuard const guard(x.device());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "to_floating", [&] {
    launch_elements("fixed-point sum", current_queue(x.device().index()), x.numel(),
                    ToFloatingJob<scalar_t>{fixed.const_data_ptr<std::int64_t>(), quantum,
                                            x.mutable_data_ptr<scalar_t>()});
  });
}

}  // namespace voxcycle::fixed_point::on_gpu

namespace voxcycle::exact_columns::on_gpu {
namespace {

template <class Job>
void run_job(int device, std::int64_t columns, Job const& job) {
  c10::DeviceGuard const guard({c10::kCUDA, static_cast<c10::DeviceIndex>(device)});
  launch_elements("exact sum", current_queue(device), columns, job);
}

}  // namespace

void run(int device, std::int64_t columns, ExponentJob const& job) {
  run_job(device, columns, job);
}
void run(int device, std::int64_t columns, LimbJob const& job) {
  run_job(device, columns, job);
}
void run(int device, std::int64_t columns, SumJob const& job) {
  run_job(device, columns, job);
}

}  // namespace voxcycle::exact_columns::on_gpu
