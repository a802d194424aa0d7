// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// The middle plane across z of a solution, and of its error, as PNG, with their names for
/// TensorBoard: x to the right, y upwards, colours from the reference's least value to its largest,
/// of the error about 0.
/// @param u, u_ref  [nx+1, ny+1, nz+1]
std::vector<std::pair<std::string, std::string>> slice_pictures(at::Tensor const& u,
                                                                at::Tensor const& u_ref);

}  // namespace voxcycle
