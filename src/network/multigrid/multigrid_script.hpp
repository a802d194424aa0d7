// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/network/network.hpp"

#include <string>

namespace voxcycle {

/// TorchScript of MultigridNetwork's forward, see Network. It calls encode and decode of the
/// submodules level4, level8, ... and what the submodule `frame` has for the equation.
std::string multigrid_script(NetworkOptions const& options);

}  // namespace voxcycle
