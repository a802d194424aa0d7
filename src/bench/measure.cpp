// SPDX-License-Identifier: BSD-3-Clause
#include "bench/measure.hpp"

#include "voxcycle/core/median.hpp"

namespace voxcycle {

std::vector<double> medians(std::int64_t rounds, std::function<std::vector<double>()> const& round,
                            int warm_ups) {
  std::vector<std::vector<double>> measured;  // by value, then by round
  for (std::int64_t k = -warm_ups; k < rounds; ++k) {
    auto const values = round();
    measured.resize(values.size());
    for (std::size_t v = 0; k >= 0 && v < values.size(); ++v) measured[v].push_back(values[v]);
  }
  std::vector<double> result;
  for (auto const& values : measured) result.push_back(median(values));
  return result;
}

std::int64_t bench_repeats(BenchOptions const& options) {
  return options.repeats.value_or(11);
}

}  // namespace voxcycle
