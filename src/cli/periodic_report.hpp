// SPDX-License-Identifier: BSD-3-Clause
// What voxcycle conductivity --periodic tells of an image.
#pragma once

#include "voxcycle/core/json.hpp"
#include "voxcycle/solver/periodic_tensor.hpp"

#include <string>
#include <utility>
#include <vector>

namespace voxcycle {

/// A block of lines.
std::string periodic_text(PeriodicTensor const& tensor);
Json periodic_json(PeriodicTensor const& tensor);
/// Columns of CSV and their values in the line of an axis: its row of the tensor, and the principal
/// value of its number, x: the least.
std::vector<std::pair<std::string, double>> periodic_columns(PeriodicTensor const& tensor,
                                                             std::size_t axis);

}  // namespace voxcycle
