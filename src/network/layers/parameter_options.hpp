// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/rehearsal.hpp"

#include <ATen/ATen.h>

namespace voxcycle {

/// Of new parameters and statistics: float32, without memory in a rehearsal.
inline at::TensorOptions parameter_options() {
  return at::device(Rehearsal::current() == nullptr ? at::kCPU : at::kMeta).dtype(at::kFloat);
}

}  // namespace voxcycle
