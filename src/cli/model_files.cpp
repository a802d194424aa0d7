// SPDX-License-Identifier: BSD-3-Clause
#include "cli/model_files.hpp"

#include "voxcycle/config/load_model.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/study/ensemble_plan.hpp"
#include "voxcycle/train/run_directory.hpp"

#include <filesystem>

namespace voxcycle {

std::string model_file(Invocation const& call) {
  return call.text("model", "none");
}

std::vector<std::string> checkpoints_of(Invocation const& call) {
  auto const model = model_file(call);
  if (model == "none") return {};
  if (!std::filesystem::is_directory(model)) return {model};
  auto const own = checkpoint_path(model);
  auto const config_file = model + "/config.cfg";
  if (std::filesystem::exists(own)) return {own};
  Config config;
  if (std::filesystem::exists(config_file)) config.read_file(config_file);
  VOXCYCLE_REQUIRE(is_ensemble(config),
                   "--model " << model
                              << " is a directory that holds neither a run with a checkpoint nor "
                                 "an ensemble. Name one, or a checkpoint.");
  std::vector<std::string> all;
  for (auto const& member : plan_ensemble(config)) {
    all.push_back(checkpoint_path(member_directory(model, member.number)));
  }
  return all;
}

void load_models(Invocation const& call, SolverOptions& options) {
  for (auto const& checkpoint : checkpoints_of(call)) {
    auto const model = load_model(checkpoint);
    if (options.model == nullptr) {
      options.model = model;
    } else {
      options.more_members.push_back(model);
    }
  }
}

}  // namespace voxcycle
