// SPDX-License-Identifier: BSD-3-Clause
// Graphs of an emulated GPU: while one is recorded, operators and kernels are put down instead of
// done, and asking for values or copying from or to the host is an error. Memory that recorded work
// takes is given back with the graph; memory from elsewhere that was freed since holds NaNs, as
// everywhere.
#pragma once

#include <functional>

namespace voxcycle::emulated_gpu {

/// Whether a graph is being recorded, by whichever thread.
bool is_recording();

/// Puts `work` down for the graph that is being recorded.
void record(std::function<void()> work);

/// While a graph is launched, what it does is not counted as launches of its own.
bool is_launching();

/// Of memory: was it taken for a graph that is still there?
void note_allocation(void* address);
bool keeps(void* address);

}  // namespace voxcycle::emulated_gpu
