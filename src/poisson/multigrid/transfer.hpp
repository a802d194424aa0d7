// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include <memory>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Interpolation P from the nodes of a coarse grid to those of a fine one, and P^T. Fields are
/// contiguous [B, 1, ...], float32 or float64.
class Transfer {
 public:
  Transfer() = default;
  virtual ~Transfer() = default;
  Transfer(Transfer const&) = delete;
  Transfer& operator=(Transfer const&) = delete;

  /// P^T r
  virtual at::Tensor restricted(at::Tensor const& r) const = 0;
  /// x += P e
  virtual void add_prolonged(at::Tensor& x, at::Tensor const& e) const = 0;
};

// Coarse node I lies on fine node 2I, along each axis. The grids end together, or (see
// averaged_voxels) the last coarse voxel is half full, or the last fine voxel is left out.

/// Trilinear interpolation from `coarse` to the grid above it.
std::unique_ptr<Transfer> trilinear_transfer(Grid3 const& coarse);

/// Interpolation by given weights to `fine`. @param weights as black_box_weights makes them
std::unique_ptr<Transfer> black_box_transfer(Grid3 const& fine, at::Tensor const& weights);

/// P^T r on the nodes of `coarse`: weights (1/2, 1, 1/2) along each axis.
at::Tensor restrict_nodes(at::Tensor const& r, Grid3 const& coarse);

/// x += P e: trilinear interpolation of e, on coarse nodes, to fine ones; 0 beyond the last.
void add_prolonged(at::Tensor& x, at::Tensor const& e);

/// The mean of nu over 2x2x2 voxels for each one of `coarse`, 0 where there is none.
at::Tensor average_voxels(at::Tensor const& nu, Grid3 const& coarse);

}  // namespace voxcycle
