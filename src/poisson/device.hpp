// SPDX-License-Identifier: BSD-3-Clause
// The parts of poisson that differ on a GPU, for tensors there that the caller has checked:
// src/poisson/device/cuda.cpp, or none.cpp, which refuses, in a build without CUDA.
#pragma once

#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/poisson/energy.hpp"

#include <optional>

#include <ATen/core/Tensor.h>

namespace voxcycle::on_gpu {

/// As voxcycle::energy_and_gradient; nothing waits for the result.
EnergyAndGradient energy_and_gradient(at::Tensor const& u, at::Tensor const& nu, Grid3 const& grid,
                                      std::optional<at::Tensor> const& b);

/// The gradient alone, with b = 0.
at::Tensor apply_stiffness(at::Tensor const& u, at::Tensor const& nu, Grid3 const& grid);

/// scale * sum over the voxels at each node; voxels [B, 1, nx, ny, nz].
at::Tensor sum_at_nodes(at::Tensor const& voxels, Grid3 const& grid, double scale);

/// d = keep d + take inverse (b - k_x), x += d; all of one shape.
void chebyshev_step(double keep, double take, at::Tensor const& inverse, at::Tensor const& b,
                    at::Tensor const& k_x, at::Tensor const& d, at::Tensor const& x);

/// x /= inverse, and 0 where the inverse is.
void divide(at::Tensor const& inverse, at::Tensor const& x);

}  // namespace voxcycle::on_gpu
