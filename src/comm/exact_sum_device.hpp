// SPDX-License-Identifier: BSD-3-Clause
// The steps of an exact sum on a GPU: src/comm/device/cuda.cpp, or none.cpp, which refuses, in a
// build without CUDA. All pointers are to the GPU's memory; nothing waits for the results.
#pragma once

#include "exact_sum_columns.hpp"

namespace voxcycle::exact_columns::on_gpu {

/// job(column) for all columns.
void run(int device, std::int64_t columns, ExponentJob const& job);
void run(int device, std::int64_t columns, LimbJob const& job);
void run(int device, std::int64_t columns, SumJob const& job);

}  // namespace voxcycle::exact_columns::on_gpu
