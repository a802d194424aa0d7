// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/scripted_layers.hpp"

#include "voxcycle/core/error.hpp"

#include <torch/nn/module.h>

namespace voxcycle {
namespace {

ScriptedLayer layer_of(torch::nn::Module const& module, std::string const& name,
                       Scripted const* scripted) {
  VOXCYCLE_REQUIRE(scripted != nullptr, "network: " << name << " has no script.");
  ScriptedLayer layer{name, scripted->script()};
  layer.parameters = module.named_parameters(/*recurse=*/false).pairs();
  layer.buffers = module.named_buffers(/*recurse=*/false).pairs();
  for (auto const& child : module.named_children()) {
    layer.layers.push_back(
        layer_of(*child.value(), child.key(), dynamic_cast<Scripted const*>(child.value().get())));
  }
  return layer;
}

}  // namespace

ScriptedLayer scripted_layers(Network const& network, std::string const& name) {
  return layer_of(network.module(), name, &network);
}

}  // namespace voxcycle
