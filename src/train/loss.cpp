// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/loss.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <map>

#include "train/losses.hpp"

namespace voxcycle {
namespace {

struct Kind {
  std::unique_ptr<Loss> (*make)(LossProblem const&);
  LossPlan (*plan)();
  bool needs_reference = false;
};

/// One line a loss.
std::map<std::string, Kind> const kLosses{
    {"energy", {make_energy_loss, plan_energy_loss}},
    {"energy_multigrid", {make_energy_multigrid_loss, plan_energy_multigrid_loss}},
    {"energy_normalised", {make_normalised_energy_loss, plan_normalised_energy_loss}},
    {"residual", {make_residual_loss, plan_residual_loss}},
    {"supervised", {make_supervised_loss, plan_supervised_loss, /*needs_reference=*/true}},
};

Kind const& find_kind(std::string const& name) {
  auto const found = kLosses.find(name);
  VOXCYCLE_REQUIRE(found != kLosses.end(),
                   "loss '" << name << "' is unknown. Choose one of " << join(loss_names()) << '.');
  return found->second;
}

}  // namespace

std::vector<std::string> loss_names() {
  std::vector<std::string> names;
  for (auto const& entry : kLosses) names.push_back(entry.first);
  return names;
}

std::unique_ptr<Loss> make_loss(std::string const& name, LossProblem const& problem) {
  return find_kind(name).make(problem);
}

bool needs_reference(std::string const& name) {
  return find_kind(name).needs_reference;
}

LossPlan plan_loss(std::string const& name) {
  return find_kind(name).plan();
}

}  // namespace voxcycle
