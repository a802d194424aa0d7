// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "poisson/operator/level_operator.hpp"

namespace voxcycle {

/// The largest eigenvalue that a Krylov space of D^-1 K sees, D = diag K, of each sample: [B],
/// float64. It exceeds the largest eigenvalue by no more than rounding. Lanczos' iteration for
/// A = D^-1/2 K D^-1/2 on y_0, y_1, ... from noise, not normalised:
///   y_{j+1} = A y_j - alpha_j y_j - beta_j^2 y_{j-1},
///   alpha_j = y_j.A y_j / y_j.y_j, beta_j^2 = y_j.y_j / y_{j-1}.y_{j-1};
/// the result is the largest eigenvalue of the matrix with alpha on and beta beside its diagonal.
/// Source: Golub and Van Loan, Matrix Computations, section 10.1.
/// @param steps  applications of K, >= 1
at::Tensor lanczos_top(LevelOperator const& op, int steps);

}  // namespace voxcycle
