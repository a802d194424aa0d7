// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/trainer.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/train/checkpoint.hpp"
#include "voxcycle/train/run_directory.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>

#include "training_runs.hpp"
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace trainer_test {

namespace fs = std::filesystem;

class TrainerTest : public TrainingOnRanks {
 protected:
  TrainerTest() {
    if (comm_->rank() == 0) write_data(root_ + "/more", 5);
    comm_->barrier();
  }
};

TEST_F(TrainerTest, RunsHaveTheSameBitsOnAnyNumberOfRanks) {
  for (auto dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
    auto together = options_for(root_, std::string("together-") + at::toString(dtype));
    auto alone = options_for(root_, "alone-" + std::to_string(comm_->rank()) + at::toString(dtype));
    together.dtype = alone.dtype = dtype;
    auto const summary = train(together, *comm_);
    comm_->barrier();
    auto const expected = train(alone, *self_);
    EXPECT_TRUE(summary.finished);
    EXPECT_TRUE(at::equal(final_values(together), final_values(alone))) << at::toString(dtype);
    if (comm_->rank() == 0) {
      EXPECT_EQ(figures(summary.rows), figures(expected.rows));
    }
  }
}

TEST_F(TrainerTest, FastReductionStaysClose) {
  for (std::int64_t batch : {5, 2}) {  // with 2, only one rank has a micro-batch
    auto const name = std::to_string(batch);
    auto together = options_for(root_, "fast" + name);
    auto alone = options_for(root_, "exact" + name + "-" + std::to_string(comm_->rank()));
    together.dtype = alone.dtype = at::kDouble;
    together.reduction = GradientMode::fast;
    for (auto* options : {&together, &alone}) {
      for (auto& level : options->levels) level.batch = batch;
    }
    train(together, *comm_);
    comm_->barrier();
    train(alone, *self_);
    // Float sums differ by rounding; eleven Adam steps amplify 1e-16 by the size of 1/gradient.
    EXPECT_TRUE(at::allclose(final_values(together), final_values(alone), 1e-6, 1e-8)) << batch;
  }
}

/// Grids of 6 and 12 voxels, of which all ranks, or two of four, share out the finer one.
TrainOptions in_slabs(TrainOptions options, Communicator const& comm) {
  options.levels[0].grid = Grid3::cube(6);
  options.levels[1].grid = Grid3::cube(12);
  options.network.channels = {{6, 8}, {12, 8}};
  options.slabs = {.count = comm.size() % 2 == 0 ? 2 : comm.size(), .above = 6};
  return options;
}

TEST_F(TrainerTest, SharedSpaceStaysClose) {
  for (auto const& [batch, directions] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{5, 0}, {2, 0}, {5, 2}, {2, 2}}) {
    // With a batch of 2, one of two groups has no micro-batch.
    auto const name = std::to_string(batch) + "-" + std::to_string(directions);
    auto together = in_slabs(options_for(root_, "space" + name), *comm_);
    auto alone =
        in_slabs(options_for(root_, "space-alone" + name + std::to_string(comm_->rank())), *comm_);
    alone.slabs = {};
    for (auto* options : {&together, &alone}) {
      options->dtype = at::kDouble;
      options->network.smoothing = 2;
      options->network.coarse = CoarseLevels::black_box;
      if (directions > 0) options->network.channels[3] = 8;  // the coarsest has none
      options->network.subspace = directions;
      for (auto& level : options->levels) level.batch = batch;
    }
    auto const summary = train(together, *comm_);
    comm_->barrier();
    auto const expected = train(alone, *self_);
    EXPECT_TRUE(summary.finished);
    EXPECT_TRUE(at::allclose(final_values(together), final_values(alone), 1e-6, 1e-8)) << name;
    if (comm_->rank() > 0) continue;
    auto const found = figures(summary.rows), wanted = figures(expected.rows);
    EXPECT_EQ(found.size(), wanted.size());
    for (std::size_t k = 0; k < std::min(found.size(), wanted.size()); ++k) {
      EXPECT_NEAR(found[k], wanted[k], 1e-7) << k;
    }
  }
}

TEST_F(TrainerTest, BlocksThatSeeTheResidualAreTheSameOnAnyNumberOfProcesses) {
  auto const options = [&](std::string const& name) {
    auto o = options_for(root_, name + "-of-residual");
    o.network.smoothing = 0;
    o.network.residual_input = true;  // the finer level begins as the coarser
    return o;
  };
  auto const rank = std::to_string(comm_->rank());
  auto const together = options("together"), alone = options("alone" + rank);
  train_in_sessions(together, *comm_, [](auto& o, int n) { o.stop_after_steps = n > 0 ? 2 : 6; });
  train(alone, *self_);
  EXPECT_TRUE(at::equal(final_values(together), final_values(alone)));
  auto shared = in_slabs(options("shared"), *comm_), whole = in_slabs(options("a" + rank), *comm_);
  whole.slabs = {};
  shared.dtype = whole.dtype = at::kDouble;
  train(shared, *comm_);
  train(whole, *self_);
  EXPECT_TRUE(at::allclose(final_values(shared), final_values(whole), 1e-6, 1e-8));
}

TEST_F(TrainerTest, SharedSpaceHasTheSameBitsOnAnyNumberOfGroups) {
  auto groups = in_slabs(options_for(root_, "groups"), *comm_);
  int const group = comm_->rank() / groups.slabs.count;
  auto const part = comm_->split(group);
  auto const one = in_slabs(options_for(root_, "group-" + std::to_string(group)), *comm_);
  auto const summary = train(groups, *comm_);
  comm_->barrier();
  auto const expected = train(one, *part);
  comm_->barrier();
  EXPECT_TRUE(at::equal(final_values(groups), final_values(one)));
  if (comm_->rank() == 0) {
    EXPECT_EQ(figures(summary.rows), figures(expected.rows));
  }
}

TEST_F(TrainerTest, RanksThatShareOutSpaceDifferentlyAreToldSo) {
  if (comm_->size() % 2 != 0) GTEST_SKIP() << "no pairs of an odd number of processes";
  auto options = in_slabs(options_for(root_, "disagree"), *comm_);
  if (comm_->rank() == 0) options.slabs = {};
  EXPECT_THROW(train(options, *comm_), Error);
}

/// From 8^3 down to 4^3 and back.
TrainOptions with_deepened_unet(TrainOptions options) {
  options.network = {.name = "published",
                     .norm = Norm::instance,
                     .depth = 1,
                     .base_channels = 4,
                     .adaptation = Adaptation::deepen,
                     .cycle_levels = {4, 8}};
  options.path = {1, 0, 1};
  return options;
}

TEST_F(TrainerTest, StoppedRunsGoOnWithTheSameBits) {
  for (bool const deepened : {false, true}) {
    std::string const name = deepened ? "deepened-" : "";
    auto whole = options_for(root_, name + "whole-" + std::to_string(comm_->rank()));
    auto parted = options_for(root_, name + "parted");
    if (deepened) {
      whole = with_deepened_unet(whole);
      parted = with_deepened_unet(parted);
    }
    train(whole, *self_);
    // Stop after the first step of each session: the signal waits until the handler is installed.
    int sessions = 0;
    for (bool finished = false; !finished && sessions < 20; ++sessions) {
      auto options = parted;
      options.stop_after_steps = 4;
      finished = train(options, *comm_).finished;
      comm_->barrier();
    }
    EXPECT_GT(sessions, 2);
    EXPECT_TRUE(at::equal(final_values(parted), final_values(whole))) << name;
  }
}

TEST_F(TrainerTest, EvaluationsGivenUpAreMadeWhenTheRunGoesOn) {
  auto whole = in_slabs(options_for(root_, "evaluated"), *comm_);
  auto parted = in_slabs(options_for(root_, "evaluated-in-parts"), *comm_);
  train(whole, *comm_);
  // One rank is asked to stop: before the evaluation on entry, then in every step.
  bool const asked = comm_->rank() == comm_->size() - 1;
  int const sessions = train_in_sessions(
      parted, *comm_,
      [&](TrainOptions& options, int session) {
        if (session > 0) {
          EXPECT_EQ(CheckpointReader(checkpoint_path(options.directory)).header().global_step,
                    session - 1);
        }
        if (!asked) return;
        options.after_step = [](StepView const&) { std::raise(SIGUSR1); };
        if (session > 0) return;
        options.fresh_samples = [&](Grid3 const& grid) {
          std::raise(SIGUSR1);
          return stored_samples(shard_directory(options.data, "train", grid));
        };
      },
      [](TrainSummary const& summary, int session) { EXPECT_EQ(summary.gained, session > 0); });
  EXPECT_EQ(sessions, 13);  // one without a step, eleven of one step each, the last evaluation
  EXPECT_TRUE(at::equal(final_values(parted), final_values(whole)));
  EXPECT_EQ(stored_figures(parted), stored_figures(whole));
}

TEST_F(TrainerTest, MixedDataHaveTheSameBitsOnAnyNumberOfRanks) {
  auto together = options_for(root_, "mixed");
  auto alone = options_for(root_, "mixed-alone-" + std::to_string(comm_->rank()));
  auto own = options_for(root_, "own-" + std::to_string(comm_->rank()));
  together.more_data = alone.more_data = {{root_ + "/more", 2.0}};
  together.sample_block = alone.sample_block = 2;
  train(together, *comm_);
  comm_->barrier();
  train(alone, *self_);
  train(own, *self_);
  EXPECT_TRUE(at::equal(final_values(together), final_values(alone)));
  EXPECT_FALSE(at::equal(final_values(own), final_values(alone)));
}

TEST_F(TrainerTest, EpochsAndSecondsEndAVisit) {
  auto options = options_for(root_, "budgets");
  options.levels[0].budget = {.epochs = 2};  // 26 samples in batches of 5: 6 steps
  options.levels[1].budget = {.seconds = 0.2};
  options.levels[1].evaluations = 1;
  auto const summary = train(options, *comm_);
  EXPECT_TRUE(summary.finished);
  if (comm_->rank() != 0) return;
  std::int64_t steps = 0;
  for (auto const& row : summary.rows) steps += row.stage == 0 && !std::isnan(row.loss);
  EXPECT_EQ(steps, 6);
  auto const& last = summary.rows.back();
  EXPECT_EQ(last.stage, 1);
  EXPECT_FALSE(std::isnan(last.energy_gap_mean)) << "the stage ends with an evaluation";
  EXPECT_EQ(last.work, 5 * (6 * 4 * 4 * 4 + last.step * 8 * 8 * 8));
  EXPECT_GT(last.step, 1);
}

TEST_F(TrainerTest, TheFirstStepOfAVisitLimitedInSecondsTrains) {
  auto options = options_for(root_, "first-step");
  options.path = {1};
  options.levels[1].budget = {.seconds = 1e-6};  // one step, however long it takes
  options.levels[1].warm_up = 0.1;
  options.levels[1].evaluations = 1;
  std::vector<at::Tensor> before;
  auto const first = make_network(options.network, options.boundary, options.source);
  for (auto const& p : first->parameters()) before.push_back(p.detach().clone());
  double maximum = 0.0;
  std::int64_t steps = 0;
  options.after_step = [&](StepView const& view) {
    ++steps;
    auto const after = view.network.parameters();
    for (std::size_t k = 0; k < after.size(); ++k) {
      maximum = std::max(maximum, (after[k].detach() - before[k]).abs().max().item<double>());
    }
  };
  train(options, *comm_);
  EXPECT_EQ(steps, 1);
  // A tenth of the rate at the least.
  EXPECT_GT(maximum, 0.01 * options.levels[1].rate);
}

TEST_F(TrainerTest, AStalledGapEndsAVisit) {
  auto options = options_for(root_, "stalled");
  options.levels[0].budget.steps = 10'000;
  options.levels[0].evaluations = 10'000;
  options.levels[0].stall = {.patience = 3, .improvement = 0.9};
  auto const summary = train(options, *comm_);
  EXPECT_TRUE(summary.finished);
  if (comm_->rank() != 0) return;
  std::int64_t evaluations = 0;
  for (auto const& row : summary.rows) {
    evaluations += row.stage == 0 && !std::isnan(row.energy_gap_mean);
  }
  // The one on entry counts as an improvement, three more do not.
  EXPECT_EQ(evaluations, 4);
}

TEST_F(TrainerTest, KeepsTheBestWeightsAndThoseOfEachStage) {
  auto options = options_for(root_, "kept");
  options.keep_stages = true;
  options.levels[1].evaluations = 5;
  auto const summary = train(options, *comm_);
  comm_->barrier();
  auto const values = [&](std::string const& path) {
    auto const average = make_network(options.network, options.boundary, options.source);
    CheckpointReader(path).restore_average(*average);
    std::vector<at::Tensor> all;
    for (auto const& p : average->parameters()) all.push_back(p.detach().flatten());
    return at::cat(all);
  };
  auto const last = values(checkpoint_path(options.directory));
  EXPECT_TRUE(at::equal(values(stage_path(options.directory, 1)), last));
  EXPECT_FALSE(at::equal(values(stage_path(options.directory, 0)), last));
  if (comm_->rank() != 0) return;
  double best = 1e300;
  std::int64_t best_step = 0;
  for (auto const& row : summary.rows) {
    if (row.stage != 1 || row.step == 0 || !(row.energy_gap_mean < best)) continue;
    best = row.energy_gap_mean;
    best_step = row.step;
  }
  EXPECT_EQ(CheckpointReader(best_path(options.directory)).header().step, best_step);
}

TEST_F(TrainerTest, BeginsWithTheWeightsOfAFinishedRun) {
  auto first = options_for(root_, "start");
  first.levels[0].optimizer = first.levels[1].optimizer = "adam";
  train(first, *comm_);
  comm_->barrier();
  auto second = options_for(root_, "started");
  second.start = first.directory;
  second.path = {1};
  second.levels[1].optimizer = "lbfgs";
  auto const summary = train(second, *comm_);
  auto const last = CheckpointReader(checkpoint_path(first.directory));
  EXPECT_FALSE(last.warm_start().empty()) << "Adam's second moments, for L-BFGS";
  if (comm_->rank() != 0) return;
  auto const before = metrics_from_csv(last.header().metrics);
  ASSERT_EQ(summary.rows.front().step, 0);
  EXPECT_EQ(summary.rows.front().seconds, 0.0) << "its own time";
  EXPECT_NEAR(summary.rows.front().energy_gap_mean, before.back().energy_gap_mean,
              1e-8);  // as metrics.csv rounds it
}

TEST_F(TrainerTest, RefusesToBeginWithARunThatIsNotFinished) {
  auto first = options_for(root_, "unfinished");
  first.stop_after_steps = 2;
  train(first, *comm_);
  comm_->barrier();
  for (auto const& start : {first.directory, root_ + "/nowhere"}) {
    auto second = options_for(root_, "refused");
    second.start = start;
    EXPECT_THAT([&] { train(second, *comm_); },
                ::testing::ThrowsMessage<Error>(::testing::HasSubstr("holds no finished run")));
  }
}

TEST_F(TrainerTest, RefusesUnknownOptimisersOfLaterStagesBeforeTheFirstStep) {
  auto options = options_for(root_, "optimiser");
  options.levels[1].optimizer = "adm";
  EXPECT_THROW(train(options, *comm_), Error);
  EXPECT_FALSE(fs::exists(options.directory + "/metrics.csv"));
}

TEST_F(TrainerTest, RefusesTheRunOfAnotherConfig) {
  auto options = options_for(root_, "other");
  train(options, *comm_);
  comm_->barrier();
  options.fingerprint.set("test", "2");
  EXPECT_THROW(train(options, *comm_), Error);
  options.restart = Restart::fresh;
  EXPECT_NO_THROW(train(options, *comm_));
}

TEST_F(TrainerTest, RefusesACheckpointWithStepsButWithoutMetrics) {
  auto options = options_for(root_, "no-metrics" + std::to_string(comm_->rank()));
  options.stop_after_steps = 2;
  train(options, *self_);
  auto const path = checkpoint_path(options.directory);
  auto header = CheckpointReader(path).header();
  header.metrics.clear();
  auto const network = make_network(options.network, options.boundary, options.source);
  write_checkpoint(path, header, *network, *network, {}, {});
  EXPECT_THAT([&] { train(options, *self_); },
              ::testing::ThrowsMessage<Error>(::testing::HasSubstr("do not fit each other")));
}

TEST_F(TrainerTest, TellsOfRanksWhoseWeightsDrift) {
  auto options = options_for(root_, "drift");
  options.after_step = [&](StepView const& view) {
    if (comm_->rank() == 1 && view.stage == 1 && view.step == 2)
      view.network.parameters().front().detach().add_(1e-3);
  };
  testing::internal::CaptureStderr();
  train(options, *comm_);
  auto const log = testing::internal::GetCapturedStderr();
  auto const told = log.find("the weights of rank 1 differ from those of rank 0");
  EXPECT_EQ(told != std::string::npos, comm_->rank() == 0 && comm_->size() > 1) << log;
}

TEST_F(TrainerTest, NamesTheSamplesOfALossThatIsNotFinite) {
  auto options = options_for(root_, "wild");
  options.levels[0].rate = 1e30;
  options.levels[0].warm_up = 0;
  try {
    train(options, *comm_);
    ADD_FAILURE() << "no error";
  } catch (Error const& error) {
    EXPECT_NE(std::string(error.what()).find("stage 1 (4^3)"), std::string::npos) << error.what();
  }
}

}  // namespace trainer_test
}  // namespace voxcycle
