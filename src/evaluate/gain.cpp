// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/evaluate/gain.hpp"

#include "voxcycle/core/text.hpp"
#include "voxcycle/network/network.hpp"

#include <ATen/ATen.h>

namespace voxcycle {

MeanErrors means_of(HeldOutErrors const& errors) {
  return {errors.rel_l2.mean().item<double>(), errors.energy_gap.mean().item<double>(),
          errors.energy_norm_error.mean().item<double>()};
}

std::optional<MeanErrors> untrained_errors(ProcessGrid const& all, TrainOptions const& options,
                                           HeldOutSamples const& samples,
                                           HeldOutOptions const& how) {
  if (!options.start.empty()) return {};
  auto const network = make_network(options.network, options.boundary, options.source);
  if (options.dtype == at::kDouble || how.dtype == at::kDouble) network->to(at::kDouble);
  network->to(options.device);
  return means_of(evaluate_held_out(all, *network, samples, how));
}

Gain gain_of(std::string const& grid, MeanErrors const& untrained, double energy_norm_error) {
  auto const before = format_percent(untrained.energy_norm_error),
             after = format_percent(energy_norm_error);
  if (energy_norm_error < untrained.energy_norm_error && before != after) {
    return {true,
            "training took the energy-norm error at " + grid + " from " + before + " to " + after};
  }
  return {false, "training gained nothing at " + grid + ": the energy-norm error is " + after +
                     ", untrained " + before +
                     ". Take more steps (cycle.steps) or fields (data.train_samples), or a lower "
                     "cycle.rate."};
}

}  // namespace voxcycle
