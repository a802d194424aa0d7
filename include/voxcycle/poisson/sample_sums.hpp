// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/space.hpp"

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// sum_i a_i b_i of each sample in float64, in a fixed order: [n]. Fields are contiguous and of one
/// type, float32 or float64.
at::Tensor sample_dots(at::Tensor const& a, at::Tensor const& b);

/// The same of fields on the nodes of a part, over all processes: [n] float64. On CPUs in the order
/// of planes, so that the number of processes changes no bit. **Collective**.
at::Tensor plane_dots(Space const& space, at::Tensor const& a, at::Tensor const& b);
/// sum_i a_i likewise, on CPUs.
at::Tensor plane_sums(Space const& space, at::Tensor const& a);

/// A value a sample as a factor of fields [n, 1, x, y, z] of type `dtype`.
at::Tensor as_factor(at::Tensor const& values, at::ScalarType dtype);

}  // namespace voxcycle
