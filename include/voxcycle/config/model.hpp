// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/config/config.hpp"
#include "voxcycle/field/source.hpp"
#include "voxcycle/poisson/boundary.hpp"

#include <string>

namespace voxcycle {

/// A line of a run's identity that tells the units of the network's corrections, "" for 1.
std::string units_line(Boundary const& boundary, Source const& source);
/// @throws Error if the checkpoint is of before corrections had units, and its network would need
/// some.
void require_units(std::string const& path, std::string const& identity, Boundary const& boundary,
                   Source const& source);

/// `config` with what a checkpoint's identity says of its training.
Config config_of_identity(Config config, std::string const& identity);

/// Name and sizes of the network, for people.
std::string describe_network(Config const& config);

}  // namespace voxcycle
