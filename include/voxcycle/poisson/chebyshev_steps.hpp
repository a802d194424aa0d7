// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

namespace voxcycle {

/// One step on K x = b: d = keep d + take W (b - K x), x += d, with Jacobi weights W for which the
/// spectrum of W K ends at about 1.
struct ChebyshevStep {
  double keep;  ///< 0 in the first step
  double take;
};

/// A polynomial q with q(0) = 1: the error e becomes q(W K) e.
using ChebyshevSteps = std::vector<ChebyshevStep>;

/// Eigenvalues of W K whose part in the error is to become small.
struct Interval {
  double bottom, top;  ///< 0 < bottom < top
};

/// Of all q of degree `count` the one with the least |q| on the interval. Source: Saad, Iterative
/// Methods for Sparse Linear Systems, algorithm 12.1. @param count  >= 0
ChebyshevSteps chebyshev_steps(int count, Interval const& interval);

/// The smoothing steps of networks. Interpolation leaves its errors in the upper three quarters of
/// the spectrum; five steps and more can also reach further down, to 2/count^1.5, about where
/// trained networks came closest with four, eight and sixteen steps, but not below 0.04: as much
/// above 1 errors still shrink, and the end of a coarser grid's spectrum is an estimate.
/// @param count  >= 0
ChebyshevSteps smoothing_steps(int count);

}  // namespace voxcycle
