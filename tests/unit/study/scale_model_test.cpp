// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/study/scale_model.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace scale_model_test {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::ThrowsMessage;

// Relative: a few sums and products.
constexpr double rounding = 1e-12;

std::string file_of(std::string const& text) {
  auto const path = std::string(VOXCYCLE_TEST_SCRATCH) + "/network.json";
  write_file_atomically(path, text);
  return path;
}

TEST(ParseNetwork, ReadsNumbersAndWhatBenchNetworkWrote) {
  auto const given = parse_network("1.5, 12");
  EXPECT_NEAR(given.latency, 1.5e-6, rounding);
  EXPECT_NEAR(given.bandwidth, 12e9, rounding * 12e9);
  // On 5 processes a small all-reduce takes three messages one after the other.
  auto const measured =
      parse_network(file_of("{\"bench\": \"network\", \"processes\": 5, \"latency_seconds\": 6e-6, "
                            "\"best_gigabytes_a_second\": 3.0}"));
  EXPECT_NEAR(measured.latency, 2e-6, rounding);
  EXPECT_NEAR(measured.bandwidth, 3e9, rounding * 3e9);
}

TEST(ParseNetwork, KnowsNames) {
  EXPECT_GT(parse_network("ndr").bandwidth, parse_network("hdr").bandwidth);
}

TEST(ParseNetwork, RefusesWhatIsNone) {
  auto const refuse = [](std::string const& text, std::string const& words) {
    EXPECT_THAT([&] { parse_network(text); }, ThrowsMessage<Error>(HasSubstr(words))) << text;
  };
  refuse("1.5,0", "must be above 0");
  refuse("0,12", "must be above 0");
  refuse("1.5,inf", "must be above 0");
  refuse("1.5", "nor a latency");
  refuse("1.5,12,3", "nor a latency");
  refuse("there-is-no-such-file.json", "nor a latency");
  refuse(file_of("{\"bench\": \"step\"}"), "is not what voxcycle bench network");
  refuse(file_of("latency"), "is not what voxcycle bench network");
  refuse(file_of("{\"bench\": \"network\", \"processes\": 2, \"latency_seconds\": 6e-6, "
                 "\"best_gigabytes_a_second\": 0}"),
         "must be above 0");
}

TEST(AllReduce, IsTheCheaperOfRingAndDoubling) {
  NetworkSpeed const network{1e-6, 1e9};
  EXPECT_EQ(all_reduce_seconds(network, 1, 1e6), 0.0);
  // Two processes exchange their values.
  EXPECT_NEAR(all_reduce_seconds(network, 2, 1e6), 1e-6 + 1e-3, rounding);
  // Small messages double: three rounds on 5 to 8 processes.
  EXPECT_NEAR(all_reduce_seconds(network, 5, 8), 3 * (1e-6 + 8e-9), rounding);
  EXPECT_NEAR(all_reduce_seconds(network, 8, 8), 3 * (1e-6 + 8e-9), rounding);
  EXPECT_NEAR(all_reduce_seconds(network, 4096, 8), 12 * (1e-6 + 8e-9), rounding);
  // Large ones go round: 14 messages of an eighth each.
  EXPECT_NEAR(all_reduce_seconds(network, 8, 8e6), 14 * (1e-6 + 1e-3), rounding);
}

TEST(ComputingRuns, HalveTheUnitsOfAProcessDownToOne) {
  // 16 samples are 8 units of 2.
  EXPECT_EQ(computing_runs(1, 16, 2), (std::vector<ScaleRun>{{1, 16}, {1, 8}, {1, 4}, {1, 2}}));
  // 13 are 7, the last of one sample; on 2, 4 and 8 processes the busiest has 4, 2 and 1.
  EXPECT_EQ(computing_runs(1, 13, 2), (std::vector<ScaleRun>{{1, 13}, {1, 8}, {1, 4}, {1, 2}}));
  EXPECT_EQ(computing_runs(2, 16, 2), (std::vector<ScaleRun>{{2, 16}, {2, 8}, {2, 4}}));
  EXPECT_EQ(computing_runs(1, 1, 2), (std::vector<ScaleRun>{{1, 1}}));
}

TEST(ComputingSeconds, AreMeasuredOnesWithoutSums) {
  auto const runs = computing_runs(2, 8, 2);  // units 2 and 1
  ScaleTimes times{{{2, 8}, {{1.0, 0.1, 0.25, 0.0}, {3.0, 0.1, 0.25, 0.0}}}};
  EXPECT_THAT(computing_seconds(runs, times, 2), ElementsAre()) << "one unit is not measured";
  times[{2, 4}] = {{1.0, 0.0, 0.5, 0.1}};
  EXPECT_THAT(computing_seconds(runs, times, 2),
              ElementsAre(Pair(1, DoubleNear(0.5, rounding)), Pair(2, DoubleNear(1.5, rounding))));
}

StepModel model_of(std::map<std::int64_t, double> const& seconds) {
  return {.network = {1e-3, 1e6},
          .traffic = {{1, {.sums = {{2, 2000}, {0, 0}}}}},
          .micro_batch_size = 2,
          .seconds = seconds};
}

TEST(Predict, StrongScalingEndsWithTheUnits) {
  auto const model = model_of({{1, 0.3}, {2, 0.5}, {4, 0.9}});
  auto const rows = predict(strong_scaling({1, 2, 3, 4, 8}, 8), model);  // 4 units
  double const call = 2e-3;  // of two: a latency, and 1000 bytes
  EXPECT_NEAR(rows[0].seconds, 0.9, rounding);
  EXPECT_EQ(rows[0].reducing, 0.0);
  EXPECT_NEAR(rows[1].seconds, 0.5 + 2 * call, rounding);
  EXPECT_NEAR(rows[1].reducing, 2 * call / rows[1].seconds, rounding);
  EXPECT_EQ(rows[2].units, 2);  // one of 3 processes has two units, as long as of 2 processes
  EXPECT_NEAR(rows[2].seconds, 0.5 + 2 * 2 * call, rounding);
  EXPECT_EQ(rows[4].units, 1);  // four of 8 processes have none
  EXPECT_NEAR(rows[4].speedup, 0.9 / (0.3 + 2 * 3 * call), rounding);
  EXPECT_NEAR(rows[4].efficiency, rows[4].speedup / 8, rounding);
}

TEST(Predict, WeakScalingKeepsTheUnits) {
  auto const rows = predict(weak_scaling({2, 4}, 8), model_of({{1, 0.3}, {2, 0.5}}));
  EXPECT_EQ(rows[1].units, 2);
  EXPECT_NEAR(rows[1].efficiency, (0.5 + 0.004) / (0.5 + 0.008), rounding);
}

TEST(Predict, UnitsThatAreNotMeasuredLieBetween) {
  auto const model = model_of({{1, 0.3}, {2, 0.5}, {4, 0.9}});
  auto const rows = predict({{1, 6}, {1, 16}}, model);
  EXPECT_NEAR(rows[0].seconds, 0.7, rounding);  // 3 units
  EXPECT_NEAR(rows[1].seconds, 1.8, rounding);  // 8
}

TEST(Predict, GroupsExchangeForEachUnit) {
  auto model = model_of({{1, 0.3}, {2, 0.5}});
  model.traffic[4] = {.sums = {{2, 2000}},
                      .in_group = {.sums = {1, 8}, .gathers = {3, 600}, .exchanges = {5, 4000}},
                      .computing = 0.25};
  auto const rows = predict({{1, 4}, {8, 8, 4}}, model);  // two groups with two units each
  // Planes; then two rounds of doubling and three times the bytes of a gather; a small sum.
  double const unit = 5 * 1e-3 + 4e-3 + 3 * 2 * 1e-3 + 3 * 600e-6 + 2 * (1e-3 + 8e-6);
  double const sums = 2 * 3 * 2e-3;
  EXPECT_NEAR(rows[1].seconds, 0.25 * 0.5 + 2 * unit + sums, rounding);
  EXPECT_NEAR(rows[1].exchanging, 2 * unit / rows[1].seconds, rounding);
  EXPECT_NEAR(rows[1].speedup, 2 * 0.5 / rows[1].seconds, rounding);
}

TEST(RelativeComputing, IsALineInThePlanes) {
  std::map<std::int64_t, double> const planes{{1, 128}, {2, 68}, {4, 40}, {8, 24}};
  auto const of = [&](std::int64_t count) { return planes.at(count); };
  EXPECT_NEAR(relative_computing({{1, 2.0}}, of, 4), 40.0 / 128.0, rounding);
  // 0.01 s a plane, and 0.72 s whatever there is.
  std::map<std::int64_t, double> const measured{{1, 2.0}, {2, 1.4}};
  EXPECT_NEAR(relative_computing(measured, of, 2), 0.7, rounding);
  EXPECT_NEAR(relative_computing(measured, of, 8), 0.96 / 2.0, rounding);
  EXPECT_NEAR(relative_computing({{1, 2.0}, {2, 2.5}}, of, 8), 1.0, rounding) << "not slower";
}

TEST(PredictedProcesses, AreDoublesUpTo4096) {
  EXPECT_EQ(predicted_processes(1).size(), 13U);
  EXPECT_EQ(predicted_processes(1).back(), 4096);
  EXPECT_EQ(predicted_processes(3).back(), 3072);
}

}  // namespace scale_model_test
}  // namespace voxcycle
