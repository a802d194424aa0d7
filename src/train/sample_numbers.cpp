// SPDX-License-Identifier: BSD-3-Clause
#include "train/sample_numbers.hpp"

#include <algorithm>

#include <ATen/ATen.h>

namespace voxcycle {

at::Tensor SampleNumbers::of(std::vector<SampleOrigin> const& samples,
                             std::function<at::Tensor()> const& compute) {
  bool const all_known = std::all_of(samples.begin(), samples.end(),
                                     [&](auto const& sample) { return known_.contains(sample); });
  if (samples.empty() || !all_known) {
    at::Tensor const numbers = compute();
    std::int64_t row = 0;
    for (auto const& sample : samples) known_[sample] = numbers[row++];
    return numbers;
  }
  std::vector<at::Tensor> rows;
  for (auto const& sample : samples) rows.push_back(known_.at(sample));
  return at::stack(rows);
}

}  // namespace voxcycle
