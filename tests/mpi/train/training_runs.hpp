// SPDX-License-Identifier: BSD-3-Clause
// Small trainings, and what they leave, for comparisons.
#pragma once

#include "voxcycle/dataset/sample_source.hpp"
#include "voxcycle/field/family.hpp"
#include "voxcycle/io/shard.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/train/checkpoint.hpp"
#include "voxcycle/train/run_directory.hpp"
#include "voxcycle/train/trainer.hpp"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace voxcycle {

inline constexpr std::int64_t kTrainSamples = 13;  // divides by none of the rank counts
inline constexpr std::int64_t kHeldOut = 3;

/// Below the build, or where the variable says: GPU tests run far from it.
inline std::string scratch(Communicator const& comm) {
  char const* const chosen = std::getenv("VOXCYCLE_TEST_SCRATCH");
  return std::string(chosen != nullptr ? chosen : VOXCYCLE_TEST_SCRATCH) + "-" +
         std::to_string(comm.size());
}

/// Shards of the kl family with the lift as a stand-in for references: the test compares runs with
/// each other, not with solutions.
inline void write_data(std::string const& root, std::int64_t train_samples = kTrainSamples) {
  auto const family = make_family({});
  for (auto const* split : {"train", "held_out"}) {
    bool const held_out = std::string(split) == "held_out";
    for (std::int64_t n : {4, 6, 8, 12}) {
      ShardInfo info;
      info.family = family->signature();
      info.split = split;
      info.grid = Grid3::cube(n);
      info.boundary = to_string(Boundary{});
      info.parameters = family->parameter_count();
      info.samples = held_out ? kHeldOut : train_samples;
      info.has_reference = held_out;
      write_shard(shard_directory(root, split, info.grid) + "/" + shard_name(0, 1), info,
                  [&](std::int64_t local) {
                    ShardSample sample;
                    sample.omega = family->omega(held_out ? 8 : 7 + train_samples, local);
                    sample.nu.resize(static_cast<std::size_t>(n * n * n));
                    family->evaluate(sample.omega, info.grid, {}, sample.nu);
                    if (held_out) {
                      auto const u = lift(info.grid, {}, at::kDouble);
                      sample.u_ref.assign(u.data_ptr<double>(), u.data_ptr<double>() + u.numel());
                    }
                    return sample;
                  });
    }
  }
}

/// Trainings on all ranks and on each alone, with data that rank 0 writes.
class TrainingOnRanks : public ::testing::Test {
 protected:
  TrainingOnRanks() {
    at::set_num_threads(1);
    if (comm_->rank() == 0) {
      std::filesystem::remove_all(root_);
      write_data(root_ + "/data");
    }
    comm_->barrier();
  }
  ~TrainingOnRanks() override { comm_->barrier(); }

  std::unique_ptr<Communicator> comm_ = make_mpi_communicator();
  std::unique_ptr<Communicator> self_ = make_self_communicator();
  std::string root_ = scratch(*comm_);
};

inline TrainOptions options_for(std::string const& root, std::string const& run) {
  TrainOptions options;
  options.directory = root + "/" + run;
  options.data = root + "/data";
  options.fingerprint.set("test", "1");
  options.path = {0, 1};
  options.levels = {{.grid = Grid3::cube(4),
                     .budget = {.steps = 6},
                     .batch = 5,
                     .optimizer = "adam",
                     .rate = 3e-3,
                     .old_level_factor = 0.1},
                    {.grid = Grid3::cube(8),
                     .budget = {.steps = 5},
                     .batch = 5,
                     .optimizer = "adam",
                     .rate = 2e-3,
                     .old_level_factor = 0.1}};
  options.network.channels = {{4, 8}, {8, 8}};
  options.network.coarse = CoarseLevels::averaged;
  options.network.correction_scale = 4.0;
  options.average_horizon = 1.0;  // all steps of a stage: their count matters
  return options;
}

/// Calls back before every sample that is read, in the thread that reads.
class WatchedSource final : public SampleSource {
 public:
  WatchedSource(std::unique_ptr<SampleSource> source, std::function<void()> before_read)
      : source_(std::move(source)), before_read_(std::move(before_read)) {}
  ShardInfo const& info() const override { return source_->info(); }
  ShardSample read(std::int64_t index, ReadReference reference, Planes const& planes) override {
    before_read_();
    return source_->read(index, reference, planes);
  }

 private:
  std::unique_ptr<SampleSource> source_;
  std::function<void()> before_read_;
};

/// Trains in sessions until the run is finished. @return how many it took
inline int train_in_sessions(
    TrainOptions const& options, Communicator const& comm,
    std::function<void(TrainOptions&, int session)> const& prepare,
    std::function<void(TrainSummary const&, int session)> const& look = {}) {
  constexpr int maximum = 60;
  for (int session = 0; session < maximum; ++session) {
    auto changed = options;
    prepare(changed, session);
    auto const summary = train(changed, comm);
    if (look) look(summary, session);
    comm.barrier();
    if (summary.finished) return session + 1;
  }
  ADD_FAILURE() << "not finished after " << maximum << " sessions";
  return maximum;
}

/// All values of a finished run: weights, running statistics, averages.
inline at::Tensor final_values(TrainOptions const& options) {
  auto const network = make_network(options.network, options.boundary, options.source);
  auto const average = make_network(options.network, options.boundary, options.source);
  if (options.dtype == at::kDouble) {
    network->to(at::kDouble);
    average->to(at::kDouble);
  }
  CheckpointReader const checkpoint(checkpoint_path(options.directory));
  EXPECT_TRUE(checkpoint.header().finished);
  checkpoint.restore_network(*network);
  checkpoint.restore_average(*average);
  std::vector<at::Tensor> all;
  for (auto const& module : {network, average}) {
    for (auto const& p : module->parameters()) all.push_back(p.detach().flatten());
    for (auto const& b : module->buffers()) all.push_back(b.flatten());
  }
  return at::cat(all);
}

/// Losses and held-out errors in their order.
inline std::vector<double> figures(std::vector<MetricRow> const& rows) {
  std::vector<double> values;
  for (auto const& row : rows) {
    for (double value :
         {row.loss, row.rel_l2_mean, row.energy_gap_mean, row.energy_norm_error_mean}) {
      if (!std::isnan(value)) values.push_back(value);
    }
  }
  return values;
}

/// The same of a run's checkpoint, once all ranks have ended it.
inline std::vector<double> stored_figures(TrainOptions const& options) {
  return figures(
      metrics_from_csv(CheckpointReader(checkpoint_path(options.directory)).header().metrics));
}

}  // namespace voxcycle
