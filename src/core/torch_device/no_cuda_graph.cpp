// SPDX-License-Identifier: BSD-3-Clause
// In place of cuda_graph.cpp in a build without the CUDA toolkit.
#include "voxcycle/core/device.hpp"
#include "voxcycle/core/device_graph.hpp"
#include "voxcycle/core/error.hpp"

namespace voxcycle {

DeviceGraph::DeviceGraph(int /*device*/, std::function<void()> const& /*work*/) {
  throw Error("GPU: " + cuda_problem({}));
}
DeviceGraph::~DeviceGraph() = default;
void DeviceGraph::launch() const {}
bool DeviceGraph::is_recording() {
  return false;
}

}  // namespace voxcycle
