// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/field/source.hpp"

#include <ATen/ATen.h>

namespace voxcycle {

/// What the network sees of one unit, [n, 1 or 2, nx, ny, nz]: log nu and, where every sample has a
/// source of its own (f is defined), f in units of source_rms.
inline at::Tensor network_input(at::Tensor const& nu, at::Tensor const& f) {
  return f.defined() ? at::cat({nu.log(), f.to(nu.scalar_type()).div(source_rms)}, 1) : nu.log();
}

}  // namespace voxcycle
