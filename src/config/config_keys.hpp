// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/config/config.hpp"

#include <vector>

namespace voxcycle {

/// Every key with its default and meaning, in the order of --dump-config. Adding an option is one
/// line here and one reader in src/config/options.cpp.
std::vector<ConfigKey> all_config_keys();

/// Whether a key changes a run's result. Those of places, memory and studies do not.
bool is_fingerprint_key(std::string const& name);

}  // namespace voxcycle
