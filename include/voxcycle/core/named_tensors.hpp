// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace at {
class Tensor;
}

namespace voxcycle {

/// Tensors by unique names: a network's weights, what a checkpoint keeps of a method.
using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

}  // namespace voxcycle
