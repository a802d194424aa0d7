// SPDX-License-Identifier: BSD-3-Clause
#include "train/sample_numbers.hpp"

#include "voxcycle/core/rehearsal.hpp"

#include <algorithm>

#include <ATen/ATen.h>

namespace voxcycle {

at::Tensor SampleNumbers::of(std::vector<SampleOrigin> const& samples,
                             std::function<at::Tensor()> const& compute) {
  bool const all_known = std::all_of(samples.begin(), samples.end(),
                                     [&](auto const& sample) { return known_.contains(sample); });
  if (samples.empty() || !all_known) {
    at::Tensor const numbers = on_host(compute()).contiguous();
    if (numbers.is_meta()) return numbers;
    auto const* number = numbers.const_data_ptr<double>();
    for (auto const& sample : samples) {
      known_[sample] = {number, number + numbers.size(1)};
      number += numbers.size(1);
    }
    return numbers;
  }
  std::int64_t const count = std::ssize(known_.at(samples.front()));
  at::Tensor const numbers = at::empty({std::ssize(samples), count}, at::kDouble);
  auto* number = numbers.mutable_data_ptr<double>();
  for (auto const& sample : samples) number = std::ranges::copy(known_.at(sample), number).out;
  return numbers;
}

}  // namespace voxcycle
