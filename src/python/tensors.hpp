// SPDX-License-Identifier: BSD-3-Clause
// Arrays of Python as tensors, and back: the same memory.
#pragma once

#include <ATen/core/Tensor.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace voxcycle {

/// float32 or float64, on the CPU or a GPU, of any strides.
using Array = nanobind::ndarray<nanobind::ro>;

/// @throws Error for another type or device
at::Tensor tensor_of(Array const& array);

/// As Python's torch has it, without a copy.
nanobind::object torch_tensor(at::Tensor const& tensor);

}  // namespace voxcycle
