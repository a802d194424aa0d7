// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/named_tensors.hpp"

#include <string>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

namespace voxcycle {

/// An object of a class in src/network/python. TorchScript compiles the class with the types of the
/// object's attributes.
struct Script {
  std::string name;                                               ///< of the class
  std::vector<std::pair<std::string, c10::IValue>> attributes{};  ///< numbers, lists, submodules
  NamedTensors parameters{};
  NamedTensors buffers{};
};

/// A part of a network that Python has, too: a class that computes in evaluation (with running
/// statistics) what the C++ does.
class Scripted {
 public:
  virtual ~Scripted() = default;

  /// The class and its numbers. Parameters, buffers and submodules are those of the C++ module,
  /// under the same names. `forward` takes and gives one float32 tensor [n, channels, x, y, z],
  /// unless the class says otherwise.
  virtual Script script() const = 0;
};

}  // namespace voxcycle
