// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "train/stepper.hpp"

namespace voxcycle {

/// L-BFGS on a fixed set of samples, or in batches that overlap.
std::unique_ptr<Stepper> make_lbfgs_stepper(StageSetup const& setup);

}  // namespace voxcycle
