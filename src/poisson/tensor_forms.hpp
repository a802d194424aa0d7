// SPDX-License-Identifier: BSD-3-Clause
// What multigrid does between grids and with stencils, as torch operations: how GPUs do it. On a
// CPU the loops are several times faster; tests compare the two. Every sum has a fixed order, so
// the same device gives the same bits.
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include <ATen/core/Tensor.h>

namespace voxcycle::tensor_forms {

// See transfer.hpp.
at::Tensor restrict_nodes(at::Tensor const& r);
void add_prolonged(at::Tensor& x, at::Tensor const& e, Grid3 const& fine);
at::Tensor average_voxels(at::Tensor const& nu);

/// K x of 13 couplings a node. @param couplings [B, 13, nodes x, y, z], see black_box_couplings
at::Tensor apply_couplings(at::Tensor const& couplings, at::Tensor const& x);

// P^T r and x += P e of black box interpolation. @param weights [B, 26, coarse nodes x, y, z]
at::Tensor restrict_by_weights(at::Tensor const& weights, at::Tensor const& r);
void add_prolonged_by_weights(at::Tensor const& weights, at::Tensor& x, at::Tensor const& e);

}  // namespace voxcycle::tensor_forms
