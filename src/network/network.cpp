// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/network.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/network/multigrid_network.hpp"
#include "voxcycle/network/unet_network.hpp"

#include <algorithm>

namespace voxcycle {
namespace {

using Maker = std::shared_ptr<Network> (*)(NetworkOptions const&, FrameOfGrid);

template <class T>
std::shared_ptr<Network> make(NetworkOptions const& options, FrameOfGrid frame) {
  return std::make_shared<T>(options, std::move(frame));
}

/// One line a network.
std::map<std::string, Maker> const kNetworks{
    {"multigrid", make<MultigridNetwork>},
    {"unet", make<UnetNetwork>},
};

}  // namespace

std::int64_t level_of(Grid3 const& grid) {
  return *std::max_element(grid.voxels.begin(), grid.voxels.end());
}

std::vector<std::string> network_names() {
  std::vector<std::string> names;
  for (auto const& entry : kNetworks) names.push_back(entry.first);
  return names;
}

std::shared_ptr<Network> make_network(NetworkOptions const& options, FrameOfGrid frame) {
  auto const found = kNetworks.find(options.name);
  VOXCYCLE_REQUIRE(found != kNetworks.end(), "network '" << options.name << "' is unknown. Choose "
                                                         << "one of " << join(network_names())
                                                         << '.');
  return found->second(options, std::move(frame));
}

}  // namespace voxcycle
