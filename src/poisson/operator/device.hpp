// SPDX-License-Identifier: BSD-3-Clause
// The parts of poisson that differ on a GPU, for tensors there that the caller has checked:
// src/poisson/device/cuda.cpp, or none.cpp, which refuses, in a build without CUDA. Nothing waits
// for a result.
#pragma once

#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/poisson/energy.hpp"

#include <optional>

#include "poisson/multigrid/axis_coarsening.hpp"
#include "poisson/operator/stencil_rows.hpp"
#include <ATen/core/Tensor.h>

namespace voxcycle::on_gpu {

/// As voxcycle::energy_and_gradient.
EnergyAndGradient energy_and_gradient(at::Tensor const& u, at::Tensor const& nu, Grid3 const& grid,
                                      std::optional<at::Tensor> const& b);

/// The gradient alone, with b = 0.
at::Tensor apply_stiffness(at::Tensor const& u, at::Tensor const& nu, Grid3 const& grid);

/// sum_i a_i b_i of each sample in float64: [B].
at::Tensor sample_dots(at::Tensor const& a, at::Tensor const& b);

/// scale * sum over the voxels at each node; voxels [B, 1, nx, ny, nz].
at::Tensor sum_at_nodes(at::Tensor const& voxels, Grid3 const& grid, double scale);

/// d = keep d + take weights * (b - k_x), x += d; all of one shape. With keep = 0 d may be
/// anything.
void chebyshev_step(double keep, double take, at::Tensor const& weights, at::Tensor const& b,
                    at::Tensor const& k_x, at::Tensor const& d, at::Tensor const& x);

/// Numbers of a batch that a step of Lanczos' iteration needs: [B] of float64 each.
struct LanczosSums {
  at::Tensor x_k_x, y_y, y_y_before;
};

/// See LanczosJob; fields of one shape.
void lanczos_step(LanczosSums const& sums, at::Tensor const& scale, at::Tensor const& k_x,
                  at::Tensor const& y, at::Tensor const& other, at::Tensor const& x);

/// See NoiseJob; x [B, 1, nodes]. @param first  number of its first node in the whole grid
void fill_noise(at::Tensor const& x, std::int64_t first);

/// x /= weights, and 0 where they are.
void divide(at::Tensor const& weights, at::Tensor const& x);

// See transfer.hpp.
at::Tensor restrict_nodes(at::Tensor const& r, Grid3 const& coarse);
void add_prolonged(at::Tensor& x, at::Tensor const& e);
at::Tensor average_voxels(at::Tensor const& nu, Grid3 const& coarse);

// P^T r and x += P e of black box interpolation. @param weights [B, 26, coarse nodes x, y, z]
at::Tensor restrict_by_weights(at::Tensor const& weights, at::Tensor const& r);
void add_prolonged_by_weights(at::Tensor const& weights, at::Tensor& x, at::Tensor const& e);

// K x of 13 couplings a node, and K's diagonal. @param couplings [B, 13, nodes x, y, z]
at::Tensor apply_couplings(at::Tensor const& couplings, at::Tensor const& x);
at::Tensor coupling_diagonal(at::Tensor const& couplings);

// See black_box.hpp. Weights come as zeros, and those that leave the grid stay so, and those of
// fine nodes that lie on a coarse one as they are; all couplings are set.
void black_box_weights(StencilSource const& fine, GridCoarsening const& coarsening,
                       at::Tensor& weights);
void black_box_couplings(StencilSource const& fine, at::Tensor const& weights,
                         at::Tensor& couplings);

// Of few nodes, [B, nodes, nodes] of float64, and their inverse in place of them: NaNs where a
// matrix is not positive definite.
at::Tensor dense_matrices(StencilSource const& source);
void invert(at::Tensor& matrices);

}  // namespace voxcycle::on_gpu
