// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace voxcycle {

/// This machine's name, as it calls itself.
std::string host_name();

}  // namespace voxcycle
