// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/config/config.hpp"
#include "voxcycle/field/source.hpp"
#include "voxcycle/poisson/boundary.hpp"

#include <string>

namespace voxcycle {

/// Adds the units of the network's corrections, unless they are 1.
void add_units(Fingerprint& fingerprint, Boundary const& boundary, Source const& source);
/// @throws Error if the checkpoint is of before corrections had units, and its network would need
/// some.
void require_units(std::string const& path, Fingerprint const& fingerprint,
                   Boundary const& boundary, Source const& source);

/// `config` with what a checkpoint's fingerprint says of its training.
Config with_fingerprint(Config config, Fingerprint const& fingerprint);

/// Name and sizes of the network, for people.
std::string describe_network(Config const& config);

}  // namespace voxcycle
