// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/sample_objective.hpp"

#include "voxcycle/core/stop_signal.hpp"
#include "voxcycle/io/shard.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/train/loss.hpp"

#include <limits>

#include "training_runs.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace sample_objective_test {

using Statistics = LbfgsStageOptions::Statistics;

/// So short that hardly any of some 1e5 activations passes the kink of its ReLU on the way;
/// rounding is 1e-16 / h.
constexpr double kDifference = 1e-8;
constexpr double kDifferenceError = 1e-5;

std::shared_ptr<Network> small_network(at::ScalarType dtype) {
  // More steps would leave gradients that rounding of differences hides.
  auto network = make_network({.channels = {{4, 4}, {8, 4}},
                               .correction_scale = 4.0,
                               .coarse = CoarseLevels::averaged,
                               .smoothing = 4},
                              Boundary{}, Source{});
  if (dtype == at::kDouble) network->to(at::kDouble);
  return network;
}

/// The loss over the first samples of a small data set.
class SmallLoss {
 public:
  SmallLoss(Communicator const& comm, std::string const& data, SamplePlan const& plan,
            Statistics statistics, at::ScalarType dtype,
            SampleObjective::StopWanted const& stop_wanted = {})
      : network_(small_network(dtype)),
        loss_(make_loss("energy_normalised", {grid_, {}, {}})),
        reducer_(comm, network_->parameters(), GradientMode::exact),
        parameters_(groups()),
        objective_(
            {comm, *network_, *loss_, reducer_, grid_, dtype, 2}, parameters_, plan, statistics,
            [&comm, data, batch = plan.batch](auto first, auto count) {
              std::vector<std::unique_ptr<SampleSource>> sets;
              sets.push_back(stored_samples(shard_directory(data, "train", Grid3::cube(8))));
              return std::make_unique<Prefetcher>(
                  Mixture(std::move(sets), {1.0}, {}),
                  PrefetchOptions{.batch = batch,
                                  .micro_batch_size = 2,
                                  .steps = std::numeric_limits<std::int64_t>::max(),
                                  .first_position = first,
                                  .period = count,
                                  .ranks = comm.size(),
                                  .rank = comm.rank()});
            },
            stop_wanted) {
    // Heads start at zero, where most gradients are zero.
    at::manual_seed(1);
    start = objective_.point();
    start.add_(0.1 * at::randn_like(start));
    parameters_.set_values(start);
  }

  SampleObjective& objective() { return objective_; }
  at::Tensor statistics() const {
    std::vector<at::Tensor> all;
    for (auto const& b : network_->buffers()) all.push_back(b.flatten().to(at::kDouble));
    return at::cat(all);
  }

  at::Tensor start;

 private:
  std::vector<ParameterGroup> groups() const {
    std::vector<ParameterGroup> all;
    for (auto const& level : network_->levels(grid_)) {
      all.push_back({level.parameters, level.names, 1.0});
    }
    return all;
  }

  Grid3 grid_ = Grid3::cube(8);
  std::shared_ptr<Network> network_;
  std::unique_ptr<Loss> loss_;
  GradientReducer reducer_;
  FlatParameters parameters_;
  SampleObjective objective_;
};

class SampleObjectiveTest : public TrainingOnRanks {
 protected:
  SmallLoss make(SamplePlan const& plan, Statistics statistics, at::ScalarType dtype) const {
    return {*comm_, root_ + "/data", plan, statistics, dtype};
  }

  SamplePlan const all_{.samples = 13, .batch = 5};  // the last batch has 3
};

TEST_F(SampleObjectiveTest, TheSameWeightsGiveTheSameBitsWhateverWasEvaluatedBetween) {
  for (auto statistics : {Statistics::batch, Statistics::running}) {
    auto problem = make(all_, statistics, at::kFloat);
    auto& objective = problem.objective();
    if (statistics == Statistics::running) objective.freeze_statistics(0);
    auto const first = objective.evaluate(problem.start.clone());
    auto const means = problem.statistics();
    objective.evaluate(problem.start * 1.3);
    // Weights whose loss is not finite leave no trace in the statistics either.
    EXPECT_FALSE(std::isfinite(objective.evaluate(problem.start * 1e30).value));
    auto const again = objective.evaluate(problem.start.clone());
    EXPECT_EQ(again.value, first.value);
    EXPECT_TRUE(at::equal(again.gradient, first.gradient));
    EXPECT_TRUE(at::equal(problem.statistics(), means));
    EXPECT_EQ(objective.value(0, problem.start.clone()), first.value);
  }
}

TEST_F(SampleObjectiveTest, GivesUpBetweenBatchesAndBeginsTheNextPassAtItsBeginning) {
  int left = 2;
  SmallLoss problem(*comm_, root_ + "/data", all_, Statistics::batch, at::kFloat,
                    [&] { return left-- == 0; });
  auto& objective = problem.objective();
  EXPECT_THROW(objective.evaluate(problem.start.clone()), StopRequested);
  EXPECT_EQ(objective.samples_seen(), 10);
  left = -1;
  auto expected = make(all_, Statistics::batch, at::kFloat);
  EXPECT_EQ(objective.value(0, problem.start.clone()),
            expected.objective().value(0, expected.start.clone()));
}

TEST_F(SampleObjectiveTest, HasTheBitsOfOneRank) {
  auto problem = make(all_, Statistics::batch, at::kFloat);
  SmallLoss alone(*self_, root_ + "/data", all_, Statistics::batch, at::kFloat);
  auto const together = problem.objective().evaluate(problem.start.clone());
  auto const expected = alone.objective().evaluate(alone.start.clone());
  EXPECT_EQ(together.value, expected.value);
  EXPECT_TRUE(at::equal(together.gradient, expected.gradient));
  EXPECT_TRUE(
      at::equal(problem.objective().second_moments(0), alone.objective().second_moments(0)));
}

TEST_F(SampleObjectiveTest, TheGradientIsTheSlopeOfTheValue) {
  for (auto statistics : {Statistics::batch, Statistics::running}) {
    auto problem = make(all_, statistics, at::kDouble);
    auto& objective = problem.objective();
    if (statistics == Statistics::running) objective.freeze_statistics(0);
    auto const here = objective.evaluate(problem.start.clone());
    at::manual_seed(8);
    at::Tensor const d = at::randn_like(problem.start);
    double const up = objective.value(0, problem.start + kDifference * d);
    double const down = objective.value(0, problem.start - kDifference * d);
    double const gradient = here.gradient.dot(d).item<double>();
    EXPECT_NEAR((up - down) / (2 * kDifference) / gradient, 1.0, kDifferenceError);
  }
}

TEST_F(SampleObjectiveTest, OverlapsAreTheGradientsOfTheirSamples) {
  // Batches of 4: iteration 1 is samples 4 to 11, the first half shared with iteration 0 (0 to 7).
  auto problem = make({.samples = 8, .overlap = 4, .batch = 4}, Statistics::batch, at::kDouble);
  auto& objective = problem.objective();
  auto const zero = objective.evaluate(0, problem.start.clone());
  auto const one = objective.evaluate(1, problem.start.clone());
  EXPECT_TRUE(at::equal(zero.after, one.before));
  EXPECT_FALSE(at::equal(zero.before, zero.after));
  EXPECT_TRUE(at::allclose(zero.gradient, 0.5 * (zero.before + zero.after), 1e-12, 1e-15));
  auto front = make({.samples = 4, .batch = 4}, Statistics::batch, at::kDouble);
  auto const expected = front.objective().evaluate(front.start.clone());
  EXPECT_TRUE(at::equal(expected.gradient, zero.before));
}

TEST_F(SampleObjectiveTest, SecondMomentsAreMeansOfSquaresOverBatches) {
  auto problem = make({.samples = 8, .overlap = 4, .batch = 4}, Statistics::batch, at::kDouble);
  auto const batches = problem.objective().evaluate(0, problem.start.clone());
  EXPECT_TRUE(at::allclose(problem.objective().second_moments(0),
                           0.5 * (batches.before.square() + batches.after.square()), 1e-12, 0));
}

}  // namespace sample_objective_test
}  // namespace voxcycle
