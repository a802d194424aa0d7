// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device_block.cuh"

#include "poisson/node_points.hpp"

namespace voxcycle {

template void launch_elements(char const*, DeviceQueue const&, std::int64_t,
                              NodeSumJob<float> const&);
template void launch_elements(char const*, DeviceQueue const&, std::int64_t,
                              NodeSumJob<double> const&);
template void launch_elements(char const*, DeviceQueue const&, std::int64_t,
                              ChebyshevJob<float> const&);
template void launch_elements(char const*, DeviceQueue const&, std::int64_t,
                              ChebyshevJob<double> const&);
template void launch_elements(char const*, DeviceQueue const&, std::int64_t,
                              DivideJob<float> const&);
template void launch_elements(char const*, DeviceQueue const&, std::int64_t,
                              DivideJob<double> const&);

}  // namespace voxcycle
