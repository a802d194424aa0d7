// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/training_data.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/train/loss.hpp"

#include <memory>
#include <utility>

namespace voxcycle {

ShardList const& TrainingData::shards(std::string const& data, char const* split,
                                      Grid3 const& grid) const {
  auto const directory = shard_directory(data, split, grid);
  return lists_.try_emplace(directory, directory).first->second;
}

std::unique_ptr<SampleSource> TrainingData::own_samples(Grid3 const& grid) const {
  return o_.fresh_samples ? o_.fresh_samples(grid) : stored_samples(shards(o_.data, "train", grid));
}

Mixture TrainingData::training(Stage const& stage) const {
  Grid3 const& grid = stage.plan.grid;
  std::vector<std::unique_ptr<SampleSource>> sets;
  std::vector<double> weights{1.0};
  sets.push_back(own_samples(grid));
  for (auto const& other : o_.more_data) {
    sets.push_back(stored_samples(shards(other.directory, "train", grid)));
    weights.push_back(other.weight);
  }
  return {std::move(sets),
          weights,
          {.seed = o_.seed,
           .stage = stage.number,
           .block = o_.sample_block,
           .augmentation = o_.augmentation}};
}

HeldOutSamples TrainingData::held_out(Grid3 const& grid, Planes const& planes) const {
  return held_out_samples(shards(o_.data, "held_out", grid), planes);
}

std::string TrainingData::describe(std::vector<Stage> const& stages) const {
  std::string text;
  auto const add = [&](std::unique_ptr<SampleSource> const& source) {
    auto const& info = source->info();
    text += format("%s %s %s seed %llu samples %ld; ", info.split.c_str(),
                   info.grid.label().c_str(), info.family.c_str(),
                   static_cast<unsigned long long>(info.seed), static_cast<long>(info.samples));
  };
  for (auto const& stage : stages) {
    Grid3 const& grid = stage.plan.grid;
    add(stored_samples(shards(o_.data, "held_out", grid)));
    add(own_samples(grid));
    for (auto const& other : o_.more_data) {
      add(stored_samples(shards(other.directory, "train", grid)));
    }
  }
  return text;
}

void TrainingData::require_inputs(Stage const& stage) const {
  auto const& name = o_.loss;
  auto const info = training(stage).info();
  VOXCYCLE_REQUIRE(!needs_reference(name) || o_.augmentation == Augmentation::none,
                   "loss " << name << " compares with reference solutions, and those of turned "
                           << "fields are others. Set data.augmentation = none.");
  VOXCYCLE_REQUIRE(
      info.has_reference || !needs_reference(name),
      "loss " << name << " compares with reference solutions, but the training shards "
              << "of grid " << info.grid.name() << " hold none"
              << (o_.more_data.empty() ? "" : " (in data.directory or in data.more)")
              << ". Set data.train_references = yes and another data.directory, and run "
                 "voxcycle generate.");
}

}  // namespace voxcycle
