// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/bench/bench.hpp"
#include "voxcycle/core/device_timer.hpp"

#include <cstdint>
#include <functional>
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

/// Medians of what each round measures, value by value.
/// @param warm_ups  rounds before those that count
std::vector<double> medians(std::int64_t rounds, std::function<std::vector<double>()> const& round,
                            int warm_ups = kBenchWarmUps);

/// --repeats, or 11.
std::int64_t bench_repeats(BenchOptions const& options);

}  // namespace voxcycle
