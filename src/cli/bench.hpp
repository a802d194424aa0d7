// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/cli/command.hpp"
#include "voxcycle/core/timer.hpp"

#include <cstdint>
#include <string>

namespace voxcycle {

/// Timed repeats of what a bench looks at, after others that pay for memory and choice of kernels.
inline constexpr int kBenchWarmUps = 2;
inline constexpr int kBenchRepeats = 11;

template <class Work>
double seconds_of(Work const& work) {
  Timer const timer;
  work();
  return timer.seconds();
}

/// The number of --name, or `otherwise`. @throws Error if it is not positive.
std::int64_t bench_number(Invocation const& call, std::string const& name, std::int64_t otherwise);

/// Prints the line on rank 0 and writes it to --json. @return 0
int bench_report(Invocation const& call, std::string const& json);

/// voxcycle bench step: whole training steps on random fields, in turns with the same in torch's
/// default layout and float32.
int bench_step(Invocation const& call);

/// voxcycle bench conv: the network's convolutions in bf16 and float32, channels last, against
/// torch's default layout in float32.
int bench_conv(Invocation const& call);

/// voxcycle bench reference: iterations, seconds and cost in applications of K of multigrid PCG on
/// smooth and rough fields.
int bench_reference(Invocation const& call);

}  // namespace voxcycle
