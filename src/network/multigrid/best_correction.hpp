// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

namespace c10 {
struct IValue;
}

namespace voxcycle {

class NestedEquation;
using Nested = std::shared_ptr<NestedEquation const>;

/// A micro-batch's equation as autograd's functions keep them for their backward.
c10::IValue as_value(Nested const& nested);
NestedEquation const& nested_of(c10::IValue const& value);

/// Of one micro-batch: u and the directions after the smoothing steps, and the sum of u and that
/// combination of the directions which has the least energy. By Ritz it is the closest to the
/// solution, in the energy norm, of all u + sum_j a_j v_j, so that no direction can do harm, and
/// its length means nothing:
///
///     A a = v^T (b - K u),   A = v^T K v
///
/// A is solved with 1e-5 of its diagonal added, for directions that nearly depend on each other.
/// Differentiable in u and in the directions (the addition counts as constant there).
/// @param u           [n, 1, nx+1, ny+1, nz+1]
/// @param directions  [n, m, nx+1, ny+1, nz+1], of any floating type
/// @param mask        of free nodes
at::Tensor best_correction(at::Tensor const& u, at::Tensor const& directions,
                           at::Tensor const& mask, Nested const& nested, int level);
}  // namespace voxcycle
