// SPDX-License-Identifier: BSD-3-Clause
// Stages of train.optimizer = lbfgs, on 1, 2, 3 and 4 ranks.
#include "voxcycle/core/error.hpp"
#include "voxcycle/train/trainer.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <filesystem>

#include "training_runs.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace lbfgs_stepper_test {

constexpr std::int64_t kIterations = 30;

/// Adam, then L-BFGS at the same grid.
TrainOptions with_lbfgs(std::string const& root, std::string const& run,
                        std::int64_t iterations = kIterations) {
  auto options = options_for(root, run);
  options.levels = {{.grid = Grid3::cube(4),
                     .budget = {.steps = 5},
                     .batch = 5,
                     .optimizer = "adam",
                     .rate = 3e-3,
                     .old_level_factor = 0.1},
                    {.grid = Grid3::cube(4),
                     .budget = {.steps = iterations},
                     .batch = 5,
                     .optimizer = "lbfgs",
                     .rate = 1e-3}};
  options.network.channels = {{4, 8}};
  options.network.coarse = CoarseLevels::averaged;
  options.network.correction_scale = 4.0;
  options.lbfgs.pairs = 6;
  return options;
}

std::vector<MetricRow> search_rows(std::vector<MetricRow> const& rows) {
  std::vector<MetricRow> found;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(found),
               [](auto const& row) { return !std::isnan(row.search.gradient_norm); });
  return found;
}

class LbfgsStepperTest : public TrainingOnRanks {
 protected:
  std::string alone(std::string const& name) const {
    return name + "-alone-" + std::to_string(comm_->rank());
  }

  /// Trains together and on this rank alone, and compares all that is left.
  void expect_same_bits(std::string const& name, std::function<void(TrainOptions&)> const& change) {
    auto together = with_lbfgs(root_, name);
    auto single = with_lbfgs(root_, alone(name));
    change(together);
    change(single);
    auto const summary = train(together, *comm_);
    comm_->barrier();
    auto const expected = train(single, *self_);
    EXPECT_TRUE(at::equal(final_values(together), final_values(single))) << name;
    if (comm_->rank() == 0) {
      EXPECT_EQ(figures(summary.rows), figures(expected.rows));
      EXPECT_GE(search_rows(summary.rows).size(), 20U) << "it went on for a while";
    }
  }
};

TEST_F(LbfgsStepperTest, HasTheSameBitsOnAnyNumberOfRanks) {
  expect_same_bits("batch-statistics", [](auto&) {});
}

TEST_F(LbfgsStepperTest, HasTheSameBitsWithFixedStatisticsAndTheIdentity) {
  expect_same_bits("running-statistics", [](auto& options) {
    options.lbfgs.statistics = LbfgsStageOptions::Statistics::running;
    options.lbfgs.start = LbfgsStageOptions::Start::identity;
    options.lbfgs.samples = 9;
    options.dtype = at::kDouble;
  });
}

TEST_F(LbfgsStepperTest, HasTheSameBitsInBatchesThatOverlap) {
  expect_same_bits("multi-batch", [](auto& options) {
    options.levels[1].batch = 3;
    options.lbfgs.batch = 9;
    options.lbfgs.overlap = 0.3;
  });
}

TEST_F(LbfgsStepperTest, HasTheSameBitsAfterMuonWhichLeavesMomentsOfSomeWeightsOnly) {
  expect_same_bits("muon", [](auto& options) { options.levels[0].optimizer = "muon"; });
}

TEST_F(LbfgsStepperTest, StoppedRunsGoOnWithTheSameBits) {
  for (std::int64_t batch : {0, 10}) {
    auto const change = [&](TrainOptions options) {
      options.lbfgs.batch = batch;
      return options;
    };
    auto const name = "parted" + std::to_string(batch);
    auto const whole = change(with_lbfgs(root_, alone(name), 9));
    train(whole, *self_);
    auto const parted = change(with_lbfgs(root_, name, 9));
    int sessions = 0;
    for (bool finished = false; !finished && sessions < 20; ++sessions) {
      auto options = parted;
      options.stop_after_steps = sessions == 0 ? 5 : 4;  // first at the end of the Adam stage
      // On changing numbers of ranks.
      if (sessions % 2 == 0) {
        finished = train(options, *comm_).finished;
      } else {
        if (comm_->rank() == 0) train(options, *self_);
      }
      comm_->barrier();
    }
    EXPECT_GT(sessions, 2);
    EXPECT_TRUE(at::equal(final_values(parted), final_values(whole))) << batch;
  }
}

TEST_F(LbfgsStepperTest, IterationsGivenUpAreDoneAgainWithTheSameBits) {
  for (std::int64_t batch : {0, 10}) {
    auto const name = "given-up" + std::to_string(batch);
    auto whole = with_lbfgs(root_, name, 9);
    auto parted = with_lbfgs(root_, name + "-parts", 9);
    whole.lbfgs.batch = parted.lbfgs.batch = batch;
    train(whole, *comm_);
    // Now here, now there within an iteration, which reads 26 samples or more.
    std::atomic<std::int64_t> reads = 0;
    int const sessions = train_in_sessions(parted, *comm_, [&](TrainOptions& options, int session) {
      if (comm_->rank() < comm_->size() - 1) return;
      reads = 0;
      std::int64_t const last = (30 + 4 * session) / comm_->size();
      options.fresh_samples = [&, last, data = options.data](Grid3 const& grid) {
        return std::make_unique<WatchedSource>(stored_samples(shard_directory(data, "train", grid)),
                                               [&, last] {
                                                 if (++reads == last) std::raise(SIGUSR1);
                                               });
      };
    });
    EXPECT_GT(sessions, 3) << batch;
    EXPECT_TRUE(at::equal(final_values(parted), final_values(whole))) << batch;
    EXPECT_EQ(stored_figures(parted), stored_figures(whole)) << batch;
  }
}

TEST_F(LbfgsStepperTest, LowersTheLossInEveryIterationAndSaysHow) {
  auto options = with_lbfgs(root_, "descends");
  auto const summary = train(options, *comm_);
  if (comm_->rank() != 0) return;
  auto const rows = search_rows(summary.rows);
  for (std::size_t k = 1; k < rows.size(); ++k) {
    // Up to the noise of float32 that the search allows for.
    EXPECT_LE(rows[k].loss, rows[k - 1].loss + 1e-6 * std::abs(rows[k - 1].loss)) << k;
    EXPECT_GE(rows[k].search.evaluations, 1.0);
    EXPECT_GT(rows[k].search.step_length, 0.0);
    // Each evaluation goes through 13 samples of 4^3.
    EXPECT_EQ(rows[k].work - rows[k - 1].work, rows[k].search.evaluations * 13 * 64);
  }
}

TEST_F(LbfgsStepperTest, EvaluatesTheWeightsItFoundNotAnAverage) {
  auto options = with_lbfgs(root_, "last");
  train(options, *comm_);
  comm_->barrier();
  auto const values = final_values(options);  // network, then average
  EXPECT_TRUE(at::equal(values.narrow(0, 0, values.numel() / 2),
                        values.narrow(0, values.numel() / 2, values.numel() / 2)));
}

TEST_F(LbfgsStepperTest, EpochsAreIterationsOnTheFixedSet) {
  auto options = with_lbfgs(root_, "epochs");
  options.levels[1].budget = {.epochs = 3};
  auto const summary = train(options, *comm_);
  if (comm_->rank() == 0) {
    EXPECT_EQ(search_rows(summary.rows).size(), 3U);
  }
}

TEST_F(LbfgsStepperTest, StopsWhereNothingIsLeftToGain) {
  auto options = with_lbfgs(root_, "stops", 100'000);
  options.levels[0].rate = 1e-6;
  options.levels[1].rate = 1e-300;  // no step that float32 weights could feel
  auto const summary = train(options, *comm_);
  EXPECT_TRUE(summary.finished);
  if (comm_->rank() != 0) return;
  EXPECT_LT(search_rows(summary.rows).size(), 10U);
  EXPECT_FALSE(std::isnan(summary.rows.back().energy_gap_mean)) << "evaluated at its end";
}

TEST_F(LbfgsStepperTest, RefusesSetsThatDoNotFitBeforeTheFirstStep) {
  auto const refuse = [&](std::string const& key,
                          std::function<void(TrainOptions&)> const& change) {
    auto options = with_lbfgs(root_, "refused");
    change(options);
    try {
      train(options, *comm_);
      ADD_FAILURE() << "no error for " << key;
    } catch (Error const& error) {
      EXPECT_NE(std::string(error.what()).find(key), std::string::npos) << error.what();
    }
    EXPECT_FALSE(std::filesystem::exists(options.directory + "/metrics.csv"));
  };
  refuse("lbfgs.samples", [](auto& options) { options.lbfgs.samples = kTrainSamples + 1; });
  refuse("lbfgs.batch", [](auto& options) { options.lbfgs.batch = 12; });
  refuse("lbfgs.batch", [](auto& options) { options.lbfgs.batch = 5; });
  refuse("lbfgs.batch", [](auto& options) { options.lbfgs.batch = 15; });
  refuse("exclude each other", [](auto& options) {
    options.lbfgs.batch = 10;
    options.lbfgs.samples = 10;
  });
}

}  // namespace lbfgs_stepper_test
}  // namespace voxcycle
