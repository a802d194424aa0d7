// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device_block.cuh"

#include "network/norm_channels.hpp"

namespace voxcycle {

template void launch_elements(char const*, DeviceQueue const&, std::int64_t,
                              norm_channels::BatchJob const&);
template void launch_elements(char const*, DeviceQueue const&, std::int64_t,
                              norm_channels::AffineJob const&);
template void launch_elements(char const*, DeviceQueue const&, std::int64_t,
                              norm_channels::SlopesJob const&);

}  // namespace voxcycle
