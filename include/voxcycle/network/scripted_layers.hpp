// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/network/network.hpp"

#include <string>
#include <vector>

namespace voxcycle {

/// A layer of a network with all below it, as TorchScript wants it.
struct ScriptedLayer {
  std::string name;           ///< in the layer above
  std::string script;         ///< see Scripted
  NamedTensors parameters{};  ///< of its own
  NamedTensors buffers{};     ///< of its own
  std::vector<ScriptedLayer> layers{};
};

/// The network as the layer `name`. @throws Error for a layer that has no script.
ScriptedLayer scripted_layers(Network const& network, std::string const& name);

}  // namespace voxcycle
