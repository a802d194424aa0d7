// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/network.hpp"

#include "voxcycle/core/registry.hpp"
#include "voxcycle/network/multigrid_network.hpp"
#include "voxcycle/network/published_unet.hpp"
#include "voxcycle/network/unet_network.hpp"

#include <torch/nn/module.h>

namespace voxcycle {
namespace {

struct Kind {
  std::shared_ptr<Network> (*make)(NetworkOptions const&, std::shared_ptr<LevelProblems>);
  void (*require_fits)(NetworkOptions const&, Grid3 const&);
};

template <class T>
Kind kind() {
  return {[](NetworkOptions const& options,
             std::shared_ptr<LevelProblems> problems) -> std::shared_ptr<Network> {
            return std::make_shared<T>(options, std::move(problems));
          },
          T::require_fits};
}

/// One line a network.
Registry<Kind> const kNetworks{"network",
                               {
                                   {"multigrid", kind<MultigridNetwork>()},
                                   {"published", kind<PublishedUnet>()},
                                   {"unet", kind<UnetNetwork>()},
                               }};

}  // namespace

Network::Network(std::shared_ptr<LevelProblems> problems)
    : module_(std::make_shared<torch::nn::Module>()), problems_(std::move(problems)) {}

std::vector<at::Tensor> Network::parameters() const {
  return module_->parameters();
}

std::vector<at::Tensor> Network::buffers() const {
  return module_->buffers();
}

NamedTensors Network::named_parameters() const {
  return module_->named_parameters().pairs();
}

NamedTensors Network::named_buffers() const {
  return module_->named_buffers().pairs();
}

void Network::to(at::Device device) {
  module_->to(device);
}

void Network::to(at::ScalarType type) {
  module_->to(type);
}

at::Device device_of(Network const& network) {
  auto const all = network.parameters();
  return all.empty() ? at::Device(at::kCPU) : all.front().device();
}

std::vector<std::string> network_names() {
  return kNetworks.names();
}

void require_fits(NetworkOptions const& options, Grid3 const& grid) {
  kNetworks.at(options.name).require_fits(options, grid);
}

int steps_of_levels(NetworkOptions const& options) {
  return options.residual_input ? 1 : options.smoothing;
}

std::shared_ptr<Network> make_network(NetworkOptions const& options,
                                      std::shared_ptr<LevelProblems> problems) {
  return kNetworks.at(options.name).make(options, std::move(problems));
}

std::shared_ptr<Network> make_network(NetworkOptions const& options, Boundary const& boundary,
                                      Source const& source) {
  EquationOptions const equation{
      .boundary = boundary,
      .source = source,
      .smoothing = steps_of_levels(options),
      .nested = options.name == "multigrid" && options.coarse == CoarseLevels::black_box};
  return make_network(options, std::make_shared<LevelProblems>(equation));
}

}  // namespace voxcycle
