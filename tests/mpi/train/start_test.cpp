// SPDX-License-Identifier: BSD-3-Clause
// Runs that begin with the weights of another one.
#include "voxcycle/train/checkpoint.hpp"
#include "voxcycle/train/run_directory.hpp"
#include "voxcycle/train/trainer.hpp"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "training_runs.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace start_test {

using StartTest = TrainingOnRanks;

/// Weights, averages and running statistics that a finished run has of the grids 4 and 8, by name.
std::map<std::string, at::Tensor> values_by_name(TrainOptions const& options) {
  auto const network = make_network(options.network, options.boundary, options.source);
  CheckpointReader const checkpoint(checkpoint_path(options.directory));
  std::map<std::string, at::Tensor> all;
  auto names = network->named_parameters();
  for (auto const& buffer : network->named_buffers()) names.push_back(buffer);
  for (auto const& [name, tensor] : names) {
    for (std::string const part : {"network/", "average/"}) {
      all[part + name] = checkpoint.find(part + name).value();
    }
  }
  return all;
}

TEST_F(StartTest, FrozenLevelsKeepTheirBitsAndTheOthersHaveTheSameOnAnyNumberOfRanks) {
  auto const first = options_for(root_, "thawed");
  train(first, *comm_);
  comm_->barrier();
  auto const before = values_by_name(first);
  using Case = std::pair<std::string, std::int64_t>;
  for (auto const& [optimizer, frozen] :
       std::vector<Case>{{"adam", 8}, {"muon", 4}, {"lbfgs", 4}}) {
    auto const options = [&, optimizer = optimizer, frozen = frozen](std::string const& name) {
      auto o = options_for(root_, name + optimizer + std::to_string(frozen));
      o.start = first.directory;
      o.freeze = {frozen};
      o.path = {1};
      o.levels[1].optimizer = optimizer;
      o.levels[1].budget.steps = 4;
      o.lbfgs.pairs = 2;
      return o;
    };
    auto const together = options("frozen-");
    auto const alone = options("frozen-alone-" + std::to_string(comm_->rank()));
    train_in_sessions(together, *comm_, [](auto& o, int) { o.stop_after_steps = 3; });
    train(alone, *self_);
    EXPECT_TRUE(at::equal(final_values(together), final_values(alone))) << optimizer << frozen;
    std::string const kept = "level" + std::to_string(frozen) + ".";
    auto const after = values_by_name(together);
    for (auto const& [name, values] : after) {
      if (name.find(kept) == std::string::npos) continue;
      auto const own = "network/" + name.substr(name.find('/') + 1);  // of the average, too
      EXPECT_TRUE(at::equal(values, before.at(own))) << optimizer << name;
    }
    std::string const trained = frozen == 4 ? "level8.enc." : "level4.enc.";
    for (std::string const layer : {"conv1.weight", "norm2.gamma", "norm2.running_mean"}) {
      auto const name = "network/" + trained + layer;
      EXPECT_FALSE(at::equal(after.at(name), before.at(name))) << optimizer << name;
    }
  }
}

TEST_F(StartTest, LevelsThatTheStartHasAreTakenAndOthersBeginAsInACycle) {
  auto const seeing_residual = [&](std::string const& name) {
    auto o = options_for(root_, name);
    o.network.smoothing = 0;
    o.network.residual_input = true;  // a level that is entered first begins as the coarser
    return o;
  };
  auto coarse = seeing_residual("coarse");
  coarse.network.channels = {{4, 8}};
  coarse.path = {0};
  train(coarse, *comm_);
  auto const whole = seeing_residual("both");
  train(whole, *comm_);
  comm_->barrier();
  auto const weight = [](TrainOptions const& run, std::string const& name) {
    return CheckpointReader(checkpoint_path(run.directory)).find("network/" + name).value();
  };
  auto const begun = [&](std::string const& name, TrainOptions const& start, LevelPath path) {
    auto o = seeing_residual(name);
    o.start = start.directory;
    o.path = std::move(path);
    for (auto& level : o.levels) level.rate = 1e-30;  // float32 stays as it was
    train_in_sessions(o, *comm_, [](auto& session, int) { session.stop_after_steps = 4; });
    return o;
  };
  std::string const layer = ".enc.conv1.weight";
  auto const more = begun("more-levels", coarse, {1});
  EXPECT_TRUE(at::equal(weight(more, "level4" + layer), weight(coarse, "level4" + layer)));
  EXPECT_TRUE(at::equal(weight(more, "level8" + layer), weight(coarse, "level4" + layer)));
  auto const again = begun("again", whole, {0, 1});
  EXPECT_TRUE(at::equal(weight(again, "level8" + layer), weight(whole, "level8" + layer)));
}

}  // namespace start_test
}  // namespace voxcycle
