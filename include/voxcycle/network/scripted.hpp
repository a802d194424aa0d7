// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace voxcycle {

/// A part of a network that can say in TorchScript what it computes in evaluation (with running
/// statistics), beside the C++ that trains it. LibTorch's own modules cannot: they are no script.
class Scripted {
 public:
  virtual ~Scripted() = default;

  /// Methods in TorchScript of a module that has this one's parameters, buffers and submodules
  /// under the same names. `forward` takes and gives one float32 tensor [n, channels, x, y, z],
  /// unless the class says otherwise. Submodules are called as self.name.forward(x): no other call
  /// compiles without Python.
  virtual std::string script() const = 0;
};

}  // namespace voxcycle
