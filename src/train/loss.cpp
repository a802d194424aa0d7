// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/loss.hpp"

#include "voxcycle/core/registry.hpp"

#include "train/losses.hpp"

namespace voxcycle {
namespace {

struct Kind {
  std::unique_ptr<Loss> (*make)(LossProblem const&);
  bool needs_reference = false;
};

/// One line a loss.
Registry<Kind> const kLosses{"loss",
                             {
                                 {"energy", {make_energy_loss}},
                                 {"energy_multigrid", {make_energy_multigrid_loss}},
                                 {"energy_normalised", {make_normalised_energy_loss}},
                                 {"residual", {make_residual_loss}},
                                 {"supervised", {make_supervised_loss, /*needs_reference=*/true}},
                             }};

}  // namespace

std::vector<std::string> loss_names() {
  return kLosses.names();
}

std::unique_ptr<Loss> make_loss(std::string const& name, LossProblem const& problem) {
  return kLosses.at(name).make(problem);
}

bool needs_reference(std::string const& name) {
  return kLosses.at(name).needs_reference;
}

}  // namespace voxcycle
