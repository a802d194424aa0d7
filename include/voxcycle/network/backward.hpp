// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// The gradients of `wanted`, given those of y; with none wanted, into the gradients of all leaves.
/// Backward needs the graph alone: y, if moved here, frees what nothing else holds.
/// @param gradients  of y; undefined ones are zero
std::vector<at::Tensor> backward(std::vector<at::Tensor> y, std::vector<at::Tensor> gradients,
                                 std::vector<at::Tensor> const& wanted = {});

}  // namespace voxcycle
