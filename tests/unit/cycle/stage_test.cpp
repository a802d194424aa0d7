// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/cycle/stage.hpp"

#include "voxcycle/core/error.hpp"

#include <gtest/gtest.h>

namespace voxcycle {
namespace stage_test {

std::vector<LevelPlan> three_levels() {
  std::vector<LevelPlan> levels;
  for (std::int64_t n : {8, 16, 32})
    levels.push_back({.grid = Grid3::cube(n), .budget = {.steps = 100}, .old_level_factor = 0.1});
  return levels;
}

TEST(Stage, OnlyOldCoarserLevelsTrainSlowly) {
  auto const stages = plan_stages({0, 1, 2}, three_levels());
  // The first stage is new down to the coarsest block.
  EXPECT_EQ(level_rate_factor(stages[0], 4), 1.0);
  EXPECT_EQ(level_rate_factor(stages[0], 8), 1.0);
  EXPECT_EQ(level_rate_factor(stages[1], 8), 0.1);
  EXPECT_EQ(level_rate_factor(stages[1], 16), 1.0);
  EXPECT_EQ(level_rate_factor(stages[2], 4), 0.1);
  EXPECT_EQ(level_rate_factor(stages[2], 32), 1.0);
}

TEST(Stage, LevelsThatBeginAnewAreNotOld) {
  // From 8 back to 32: 16 and 32 begin as 8, and have nothing to keep.
  auto const stages = plan_stages({2, 0, 2, 2}, three_levels());
  EXPECT_EQ(level_rate_factor(stages[2], 16), 1.0);
  EXPECT_EQ(level_rate_factor(stages[2], 8), 0.1);
  EXPECT_EQ(level_rate_factor(stages[3], 16), 0.1);
}

TEST(Stage, RevisitedLevelsLeadTheirStage) {
  auto const stages = plan_stages({2, 1, 2}, three_levels());
  EXPECT_EQ(level_rate_factor(stages[0], 8), 1.0);
  EXPECT_EQ(level_rate_factor(stages[1], 16), 1.0);
  EXPECT_EQ(level_rate_factor(stages[1], 8), 0.1);
  EXPECT_EQ(level_rate_factor(stages[2], 32), 1.0);
}

TEST(Stage, LevelsBeginAnewWhereTheyAreFirstEnteredFromACoarserGrid) {
  constexpr auto none = std::numeric_limits<std::int64_t>::max();
  auto const begun = [](LevelPath const& path) {
    std::vector<std::int64_t> above;
    for (auto const& stage : plan_stages(path, three_levels())) above.push_back(stage.begin_above);
    return above;
  };
  using Levels = std::vector<std::int64_t>;
  EXPECT_EQ(begun({0, 1, 2}), (Levels{none, 8, 16}));
  EXPECT_EQ(begun({0, 2}), (Levels{none, 8}));
  EXPECT_EQ(begun({2, 1, 0, 1, 2}), (Levels{none, none, none, 8, 16}));
  // Twice to 16^3 from below: the second time it keeps what it learned.
  EXPECT_EQ(begun({2, 1, 0, 1, 0, 1, 2}), (Levels{none, none, none, 8, none, 16, 16}));
}

TEST(Stage, EvaluationsAreSpreadAndEndTheStage) {
  for (std::int64_t steps : {1, 3, 10, 101}) {
    auto levels = three_levels();
    levels[0].budget.steps = steps;
    levels[0].evaluations = 4;
    auto const stage = plan_stages({0}, levels)[0];
    int count = 0;
    double before = 0.0;
    bool last = false;
    for (std::int64_t done = 1; done <= steps; ++done) {
      double const after = progress_of(stage.plan.budget, done, 0.0);
      last = evaluation_due(stage, before, after);
      count += last;
      before = after;
    }
    EXPECT_EQ(count, std::min<std::int64_t>(4, steps));
    EXPECT_TRUE(last);
  }
}

TEST(Stage, AsManyEvaluationsAsStepsAreOneAStep) {
  auto levels = three_levels();
  levels[0].budget.steps = levels[0].evaluations = 100;
  auto const stage = plan_stages({0}, levels)[0];
  for (std::int64_t done = 1; done <= 100; ++done) {
    EXPECT_TRUE(evaluation_due(stage, progress_of(stage.plan.budget, done - 1, 0.0),
                               progress_of(stage.plan.budget, done, 0.0)))
        << done;
  }
}

TEST(Stage, RefusesStagesWithoutABudgetNamingThem) {
  auto levels = three_levels();
  levels[1].budget = {};
  try {
    plan_stages({0, 1}, levels);
    FAIL();
  } catch (Error const& error) {
    EXPECT_NE(std::string(error.what()).find("stage 2 (16^3)"), std::string::npos);
  }
  levels = three_levels();
  levels[0].budget.seconds = -1;
  EXPECT_THROW(plan_stages({0}, levels), Error);
  levels = three_levels();
  levels[0].stall.improvement = 1;
  EXPECT_THROW(plan_stages({0}, levels), Error);
  levels = three_levels();
  levels[0].rate = -1;
  EXPECT_THROW(plan_stages({0}, levels), Error);
}

}  // namespace stage_test
}  // namespace voxcycle
