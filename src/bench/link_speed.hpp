// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>

namespace voxcycle {

/// What this machine's fastest link to others is made for, as Linux tells it of Ethernet and
/// InfiniBand. @param system  where that is told @return bits a second; 0: unknown
double fastest_link(std::filesystem::path const& system = "/sys/class");

}  // namespace voxcycle
