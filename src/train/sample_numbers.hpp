// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/dataset/mixture.hpp"

#include <functional>
#include <map>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Numbers that follow from a sample alone, as the energy of its solution: computed when the sample
/// is first met, and remembered on the host.
class SampleNumbers {
 public:
  /// @param samples  of a micro-batch; empty where they are unknown, as in a rehearsal
  /// @param compute  the numbers of all of them, float64 of [n, numbers]
  /// @return what compute returned for these samples, on the host
  at::Tensor of(std::vector<SampleOrigin> const& samples,
                std::function<at::Tensor()> const& compute);

 private:
  std::map<SampleOrigin, std::vector<double>> known_;
};

}  // namespace voxcycle
