// SPDX-License-Identifier: BSD-3-Clause
// What the benches share, and the benches themselves: each in a file of its own, listed in
// bench.cpp.
#pragma once

#include "voxcycle/cli/command.hpp"
#include "voxcycle/core/device_timer.hpp"
#include "voxcycle/core/json.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace voxcycle {

/// Rounds before those that count.
inline constexpr int kBenchWarmUps = 2;

/// Seconds that `work` takes. @param gpu  number of the GPU that does it, or -1
template <class Work>
double seconds_of(Work const& work, int gpu = -1) {
  DeviceTimer const timer(gpu);
  work();
  return timer.seconds();
}

/// The number of --name, or `otherwise`. @throws Error if it is not positive.
std::int64_t bench_number(Invocation const& call, std::string const& name, std::int64_t otherwise);

/// Medians are of so many rounds (--repeats), in each of which all that is compared runs once.
std::int64_t bench_repeats(Invocation const& call);

/// Prints the members as one line of JSON on rank 0 and writes it to --json. @return 0
int bench_report(Invocation const& call, json::Members const& members);

/// Energy and gradient against a copy of the same bytes, u and nu read, gradient written, on the
/// CPU or a GPU.
int bench_energy(Invocation const& call);

/// Whole training steps on random fields, in turns with the same in float32 and, on a CPU, torch's
/// default layout, with exact or fast reduction or both.
int bench_step(Invocation const& call);

/// The network's convolutions in bf16 and float32, channels last, against torch's default layout in
/// float32, on the CPU or a GPU.
int bench_conv(Invocation const& call);

/// Each loss on random fields, micro-batch by micro-batch as the step does, against
/// energy_normalised, on the CPU or a GPU.
int bench_loss(Invocation const& call);

/// Iterations, seconds and cost in applications of K of multigrid PCG on smooth and rough fields.
int bench_reference(Invocation const& call);

/// Writing one shard of noise, reading it with its checksums, and prefetching it as training does,
/// against writing and reading a file of the same bytes plainly. The files are in the page cache by
/// then: reading shows what the program adds, not what the disk gives.
int bench_io(Invocation const& call);

}  // namespace voxcycle
