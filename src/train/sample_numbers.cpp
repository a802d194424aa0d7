// SPDX-License-Identifier: BSD-3-Clause
#include "train/sample_numbers.hpp"

#include <algorithm>

#include <ATen/ATen.h>

namespace voxcycle {

at::Tensor SampleNumbers::of(std::vector<SampleOrigin> const& samples, at::Device device,
                             std::function<at::Tensor()> const& compute) {
  if (samples.empty()) return compute();
  bool const all_known = std::all_of(samples.begin(), samples.end(),
                                     [&](auto const& sample) { return known_.contains(sample); });
  if (!all_known) {
    at::Tensor const numbers = compute();
    at::Tensor const rows = numbers.cpu().contiguous();
    auto const* row = rows.const_data_ptr<double>();
    for (auto const& sample : samples) {
      known_[sample].assign(row, row + rows.size(1));
      row += rows.size(1);
    }
    return numbers;
  }
  std::vector<double> values;
  for (auto const& sample : samples) {
    auto const& row = known_.at(sample);
    values.insert(values.end(), row.begin(), row.end());
  }
  return at::tensor(values, at::kDouble).view({std::ssize(samples), -1}).to(device);
}

}  // namespace voxcycle
