// SPDX-License-Identifier: BSD-3-Clause
#include "cli/train_summary.hpp"

#include <limits>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace train_summary_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

LevelPlan level(std::int64_t n, Budget const& budget) {
  return {.grid = {{n, n, n}, {1.0, 1.0, 1.0}}, .budget = budget, .batch = 8, .rate = 0.01};
}

TrainOptions options() {
  TrainOptions all;
  all.levels = {level(8, {.steps = 100}), level(16, {.seconds = 60.0})};
  all.path = {0, 1};
  all.micro_batch_size = 2;
  return all;
}

std::string line(TrainOptions const& all, std::size_t stage, int processes, double step_seconds) {
  return stage_line(all, plan_stages(all.path, all.levels).at(stage), processes, 1000, 3 << 20,
                    step_seconds);
}

TEST(TrainSummary, AStageHasItsBatchRatesAndMemory) {
  auto all = options();
  EXPECT_EQ(line(all, 0, 4, 0.0),
            "8^3, 100 steps, batch 8 in 4 micro-batches, muon at rate 0.01, 3.0 MiB per process, "
            "time not known yet (train --dry-run predicts it)");
  // Coarser levels at three tenths; four processes double rates by the square root.
  all.rate_scaling = RateScaling::sqrt;
  EXPECT_EQ(
      line(all, 1, 4, 0.0),
      "16^3, 1 min 00 s, batch 8 in 4 micro-batches, muon at rate 0.02 (levels trained before: "
      "0.006), 3.0 MiB per process");
  all.levels[0].optimizer = kLbfgs;
  EXPECT_THAT(line(all, 0, 1, 0.0), HasSubstr("lbfgs, 3.0 MiB"));
}

TEST(TrainSummary, AStageHasItsTimeWhereStepsWereTimed) {
  EXPECT_THAT(line(options(), 0, 1, 0.25), HasSubstr("per process, about 25.0 s"));
}

TEST(TrainSummary, StepsOfARunThatGoesOnAreTimed) {
  auto const row = [](int stage, std::int64_t step, double seconds, double loss) {
    return MetricRow{stage, "", step, seconds, 0, loss, kNan, kNan, kNan};
  };
  // The first step of a stage, which is slow, and evaluations do not count.
  std::vector<MetricRow> const rows{row(0, 0, 0.0, kNan), row(0, 1, 3.0, 1.0), row(0, 2, 3.5, 1.0),
                                    row(0, 5, 5.0, 1.0),  row(1, 1, 9.0, 1.0), row(2, 1, 10.0, 1.0),
                                    row(2, 3, 10.5, 1.0), row(3, 1, 11.0, 1.0)};
  EXPECT_THAT(measured_step_seconds(rows, {0, 1, 0}), ElementsAre(Pair(0, 0.25)));
  EXPECT_THAT(measured_step_seconds({rows.begin(), rows.begin() + 5}, {0, 1, 0}),
              ElementsAre(Pair(0, 0.5)));
  EXPECT_THAT(measured_step_seconds({}, {0}), IsEmpty());
}

TEST(TrainSummary, NamesLevelsWithFewerMicroBatchesThanProcesses) {
  auto all = options();
  EXPECT_THAT(starved_levels(all, 4), IsEmpty());
  all.levels[1].batch = 3;
  EXPECT_THAT(starved_levels(all, 4),
              ElementsAre(HasSubstr("16^3: 2 of 4 processes have no samples in a step (batches of "
                                    "3 are 2 micro-batches")));
}

TEST(TrainSummary, DiskIsThatOfCheckpointsAndMetrics) {
  auto all = options();
  // Two checkpoints and the one under way: weights, averages, Adam's moments.
  double const least = 1e6 * 4 * 3 * (2 + 2);
  EXPECT_GE(disk_bytes(all, 1'000'000, 0), least);
  EXPECT_LE(disk_bytes(all, 1'000'000, 0), 1.5 * least);
  EXPECT_GT(disk_bytes(all, 0, 1000), 1000 * 60) << "a line of numbers";
  double const before = disk_bytes(all, 1'000'000, 0);
  all.keep_stages = true;
  EXPECT_EQ(disk_bytes(all, 1'000'000, 0), before + 2 * 4e6);
  all.levels[1].optimizer = kLbfgs;
  EXPECT_GE(disk_bytes(all, 1'000'000, 0), 2 * 100 * 2 * 4e6) << "100 pairs in each checkpoint";
  all.keep_checkpoints = 1;
  EXPECT_LT(disk_bytes(all, 1'000'000, 0), 3 * 100 * 2 * 4e6);
}

TEST(TrainSummary, IsATableInTensorBoard) {
  EXPECT_EQ(to_markdown({{{"build", "1"}, {"disk", "2"}}, {"slow"}}),
            "| | |\n|---|---|\n| build | 1 |\n| disk | 2 |\n| warning | slow |\n");
}

}  // namespace train_summary_test
}  // namespace voxcycle
