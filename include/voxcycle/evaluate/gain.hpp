// SPDX-License-Identifier: BSD-3-Clause
// What training was worth.
#pragma once

#include "voxcycle/dataset/held_out.hpp"
#include "voxcycle/train/held_out.hpp"
#include "voxcycle/train/trainer.hpp"

#include <optional>
#include <string>

namespace voxcycle {

/// Means over held-out samples; fractions, not per cent.
struct MeanErrors {
  double rel_l2 = 0.0;
  double energy_gap = 0.0;
  double energy_norm_error = 0.0;
};

MeanErrors means_of(HeldOutErrors const& errors);

/// Of the weights that a training begins with, on options.device. Nothing with train.start, whose
/// weights are another run's. **Collective**.
std::optional<MeanErrors> untrained_errors(ProcessGrid const& all, TrainOptions const& options,
                                           HeldOutSamples const& samples,
                                           HeldOutOptions const& how);

/// The energy-norm error before and after, in a sentence that says what to do where it is no lower.
struct Gain {
  bool gained = false;
  std::string text;
};

/// @param grid  its label
Gain gain_of(std::string const& grid, double untrained, double energy_norm_error);

}  // namespace voxcycle
