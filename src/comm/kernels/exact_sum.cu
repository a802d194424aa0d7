// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device_block.cuh"

#include "comm/exact_sum_columns.hpp"

namespace voxcycle {

template void launch_elements(char const*, DeviceQueue const&, std::int64_t,
                              exact_columns::ExponentJob const&);
template void launch_elements(char const*, DeviceQueue const&, std::int64_t,
                              exact_columns::LimbJob const&);
template void launch_elements(char const*, DeviceQueue const&, std::int64_t,
                              exact_columns::SumJob const&);

}  // namespace voxcycle
