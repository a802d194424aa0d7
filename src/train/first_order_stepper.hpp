// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "train/stepper.hpp"

namespace voxcycle {

/// Adam, SGD, Muon.
std::unique_ptr<Stepper> make_first_order_stepper(StageSetup const& setup);

}  // namespace voxcycle
