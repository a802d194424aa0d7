// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/process_grid.hpp"
#include "voxcycle/network/network.hpp"

#include <string>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// The network's solution for some samples, [n, 1, nx+1, ...], on this rank alone or, where the
/// mesh has groups, on all ranks of a group together, where the network's weights are. float32;
/// float64 where dtype is, or the boundary has a datum (see datum_of), from which Dirichlet values
/// are then as far as float32 says.
/// @param nu  [n, 1, nx, ny, nz]
/// @param f   shape of nu where every sample has a source of its own, else undefined
at::Tensor predict(ProcessGrid const& all, Network& network, Grid3 const& grid, at::Tensor nu,
                   at::Tensor const& f, at::ScalarType dtype);

/// The same on this rank's part of the grid: fields and result are on it. **Collective** over the
/// group. @param all  as made for the grid (ProcessGrid::on)
at::Tensor predict_part(ProcessGrid const& all, Network& network, Space const& space, at::Tensor nu,
                        at::Tensor const& f, at::ScalarType dtype);

/// bf16, f16, f32 or f64, as configurations call them.
std::string precision_name(at::ScalarType type);

}  // namespace voxcycle
