// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/config/config.hpp"

#include <map>
#include <string>
#include <vector>

namespace voxcycle {

/// Every key with its default and meaning, in the order of --dump-config. Adding an option is one
/// line here and one reader in src/config/options.cpp.
std::vector<ConfigKey> all_config_keys();

/// Defaults that come with network.name = `name` in place of those of all_config_keys: key, value.
std::map<std::string, std::string> defaults_of_network(std::string const& name);

/// Whether a key changes a run's result. Those of places, memory and studies do not.
bool is_fingerprint_key(std::string const& name);

}  // namespace voxcycle
