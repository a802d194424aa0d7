// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/poisson/chebyshev_steps.hpp"

#include "poisson/operator/level_operator.hpp"
#include <ATen/core/Tensor.h>

namespace voxcycle {

/// W = 1 / (top diag K) on free nodes, 0 on Dirichlet nodes, with each sample's own top: the
/// spectrum of W K ends at about 1. @param mask  1 and 0 there, dtype of the operator
at::Tensor jacobi_weights(LevelOperator const& op, at::Tensor const& mask);

/// The steps on K x = b, in place.
/// @param weights  jacobi_weights: nodes where they are 0 keep their x
/// @param x        [B, 1, nodes]; empty: zero
/// @param b        [B, 1, nodes], contiguous
/// @return x
at::Tensor chebyshev(LevelOperator const& op, at::Tensor const& weights, at::Tensor x,
                     at::Tensor const& b, ChebyshevSteps const& steps);

}  // namespace voxcycle
