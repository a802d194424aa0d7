// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/network/network.hpp"

namespace torch::jit {
struct Module;
}

namespace voxcycle {

/// The object in evaluation. @throws Error for a class that src/network/python does not have.
torch::jit::Module script_module(Script const& script);

/// The network with all its layers. @param frame  becomes its submodule of this name, see Network
torch::jit::Module script_module(Network const& network, torch::jit::Module const& frame);

}  // namespace voxcycle
