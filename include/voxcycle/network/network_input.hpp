// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// What the network sees of one micro-batch, [n, 1 or 2, nx, ny, nz]: log nu and, where every
/// sample has a source of its own (f is defined), f in units of source_rms.
at::Tensor network_input(at::Tensor const& nu, at::Tensor const& f);

/// The inverse of network_input; f is undefined where x has one channel. On a coarser grid, where
/// x is a mean over voxels, nu is their geometric mean.
struct InputFields {
  at::Tensor nu, f;
};
InputFields fields_of(at::Tensor const& x, at::ScalarType dtype);

}  // namespace voxcycle
