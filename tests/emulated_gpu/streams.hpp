// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>

namespace voxcycle::emulated_gpu {

/// Does the work, or puts it off if the stream is a side stream. `stream` is a cudaStream_t; null
/// is torch's own.
void enqueue(void* stream, std::function<void()> work);

}  // namespace voxcycle::emulated_gpu
