// SPDX-License-Identifier: BSD-3-Clause
// Makers of the losses; each family lives in a file of its own.
#pragma once

#include "voxcycle/train/loss.hpp"

namespace voxcycle {

/// J(u) as published: samples with large coefficients rule the mean.
std::unique_ptr<Loss> make_energy_loss(Grid3 const& grid, Boundary const& boundary);

/// J(u) / J(lift): every sample counts alike. For the default boundary J(lift) is half the mean of
/// nu.
std::unique_ptr<Loss> make_normalised_energy_loss(Grid3 const& grid, Boundary const& boundary);

}  // namespace voxcycle
