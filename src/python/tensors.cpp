// SPDX-License-Identifier: BSD-3-Clause
#include "python/tensors.hpp"

#include "voxcycle/core/error.hpp"

#include <memory>
#include <vector>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

namespace nb = nanobind;

at::Device device_of(Array const& array) {
  if (array.device_type() == nb::device::cpu::value) return at::kCPU;
  VOXCYCLE_REQUIRE(array.device_type() == nb::device::cuda::value,
                   "an array is neither on the CPU nor on an NVIDIA GPU. Copy it to one of them.");
  return {at::kCUDA, static_cast<at::DeviceIndex>(array.device_id())};
}

at::ScalarType type_of(Array const& array) {
  if (array.dtype() == nb::dtype<float>()) return at::kFloat;
  VOXCYCLE_REQUIRE(array.dtype() == nb::dtype<double>(),
                   "an array is neither of float32 nor of float64. Convert it.");
  return at::kDouble;
}

}  // namespace

at::Tensor tensor_of(Array const& array) {
  std::vector<std::int64_t> shape, strides;
  for (std::size_t k = 0; k < array.ndim(); ++k) {
    shape.push_back(static_cast<std::int64_t>(array.shape(k)));
    strides.push_back(array.stride(k));
  }
  // torch does not write to it: nothing here computes in place on what callers own.
  auto* const values = const_cast<void*>(array.data());
  return at::from_blob(values, shape, strides, at::device(device_of(array)).dtype(type_of(array)));
}

nb::object torch_tensor(at::Tensor const& tensor) {
  auto const owner = std::make_unique<at::Tensor>(tensor).release();
  nb::capsule const capsule(owner, [](void* p) noexcept { delete static_cast<at::Tensor*>(p); });
  std::vector<std::size_t> const shape(tensor.sizes().begin(), tensor.sizes().end());
  bool const on_gpu = tensor.is_cuda();
  auto const type = tensor.scalar_type() == at::kDouble ? nb::dtype<double>() : nb::dtype<float>();
  nb::ndarray<nb::pytorch> const array(tensor.data_ptr(), shape.size(), shape.data(), capsule,
                                       tensor.strides().data(), type,
                                       on_gpu ? nb::device::cuda::value : nb::device::cpu::value,
                                       on_gpu ? tensor.device().index() : 0);
  return nb::cast(array);
}

}  // namespace voxcycle
