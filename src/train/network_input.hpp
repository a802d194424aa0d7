// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/field/source.hpp"

#include <ATen/ATen.h>

namespace voxcycle {

/// What the network sees of one micro-batch, [n, 1 or 2, nx, ny, nz]: log nu and, where every
/// sample has a source of its own (f is defined), f in units of source_rms.
inline at::Tensor network_input(at::Tensor const& nu, at::Tensor const& f) {
  return f.defined() ? at::cat({nu.log(), f.to(nu.scalar_type()).div(source_rms)}, 1) : nu.log();
}

/// The inverse of network_input; f is undefined where x has one channel. On a coarser grid, where
/// x is a mean over voxels, nu is their geometric mean.
struct InputFields {
  at::Tensor nu, f;
};
inline InputFields fields_of(at::Tensor const& x, at::ScalarType dtype) {
  auto const channel = [&](int k) { return x.narrow(1, k, 1).to(dtype); };
  return {channel(0).exp().contiguous(),
          x.size(1) > 1 ? channel(1).mul(source_rms).contiguous() : at::Tensor()};
}

}  // namespace voxcycle
