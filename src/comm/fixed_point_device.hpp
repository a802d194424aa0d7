// SPDX-License-Identifier: BSD-3-Clause
// Fixed-point sums of many arrays at once on a GPU: src/comm/device/cuda.cpp, or none.cpp, which
// refuses, in a build without CUDA. Nothing waits for the results.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace voxcycle::fixed_point {

/// Arrays that lie in rows, one a micro-batch, and one after the other in sums.
struct SegmentTable {
  at::Tensor values;      ///< [4, arrays] int64 on the GPU, the rows of Segments
  std::int64_t size = 0;  ///< of all arrays
};

namespace on_gpu {

/// Largest bit pattern of |x| of each array in all its micro-batches, in the bits of its dtype:
/// [arrays].
/// @param rows  [micro-batches, row size], float32 or float64
at::Tensor largest_patterns(at::Tensor const& rows, SegmentTable const& segments);

/// Sums over micro-batches as integers, in units of 2^exponent of each array: [size] int64.
at::Tensor sums(at::Tensor const& rows, SegmentTable const& segments);

/// Such sums as numbers: [size].
at::Tensor to_floating(at::Tensor const& sums, SegmentTable const& segments, at::ScalarType dtype);

}  // namespace on_gpu
}  // namespace voxcycle::fixed_point
