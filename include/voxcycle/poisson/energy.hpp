// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/space.hpp"

#include <optional>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Energy of the discretised equation -div(nu grad u) = f with trilinear (Q1) elements,
///
///     J(u) = 1/2 u^T K(nu) u - b^T u,      grad J(u) = K u - b,
///
/// and its gradient from one fused pass. K is nu times a constant 8x8 element matrix a voxel,
/// which is diagonal in the basis of sums and differences along each axis (Haar):
/// with M1 = [2 1; 1 2]/6 = s s^T/4 + d d^T/12 and K1 = [1 -1; -1 1] = d d^T, s = (1,1), d =
/// (1,-1). By Ritz, J(u) - J(u*) = 1/2 |u - u*|_K^2: the energy gap is the squared energy-norm
/// error.
struct EnergyAndGradient {
  at::Tensor energy;    ///< [B], float64, where u is: J of each sample
  at::Tensor gradient;  ///< shape and dtype of u: K u - b
};

/// @param u     nodes [B, 1, nx+1, ny+1, nz+1], float32 or float64, contiguous, on CPU or GPU
/// @param nu    voxels [B, 1, nx, ny, nz], dtype and device of u, contiguous, > 0
/// @param space  the box, or this process' part of it; sizes must match. Of parts, fields are right
///             throughout, and the energy is that of the whole. **Collective**
/// @param b     load [B or 1, 1, nx+1, ny+1, nz+1], or empty for f = 0 and natural zero flux
/// The same bits for any number of threads, and on all runs on a GPU: fixed parts, J summed
/// in float64 in a fixed order. @throws Error on shapes, dtypes or devices that do not fit.
EnergyAndGradient energy_and_gradient(at::Tensor const& u, at::Tensor const& nu, Space const& space,
                                      std::optional<at::Tensor> const& b = std::nullopt);

/// K(nu) u of what this process has, arguments as above.
at::Tensor apply_stiffness(at::Tensor const& u, at::Tensor const& nu, Grid3 const& grid);

/// diag K(nu), shape of a nodal field with nu's batch and dtype.
at::Tensor stiffness_diagonal(at::Tensor const& nu, Grid3 const& grid);

/// Load of a source that is constant on each voxel: b_i = sum over voxels at node i of
/// f * volume / 8. f: [B, 1, nx, ny, nz]; result [B, 1, nx+1, ny+1, nz+1].
at::Tensor load_of_source(at::Tensor const& f, Space const& space);
/// The same for one f on all voxels, [1, 1, nx+1, ny+1, nz+1] in float64.
at::Tensor load_of_source(double f, Space const& space);

}  // namespace voxcycle
