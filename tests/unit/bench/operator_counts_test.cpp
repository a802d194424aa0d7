// SPDX-License-Identifier: BSD-3-Clause
#include "bench/operator_counts.hpp"

#include "voxcycle/bench/step_trial.hpp"
#include "voxcycle/config/options.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace operator_counts_test {

TEST(OperatorCounts, AreThoseOfTheWork) {
  at::Tensor const x = at::ones({2, 2});
  auto const counts = count_operators([&] {
    at::Tensor const y = x.add(x);
    at::empty({2, 2}).copy_(y);
    static_cast<void>(y.sum().item<double>());
  });
  EXPECT_EQ(counts.copies, 1);
  EXPECT_EQ(counts.host_waits, 1);
  EXPECT_GE(counts.operators, 5);   // add, empty, copy_, sum, item
  EXPECT_LE(counts.operators, 12);  // and what these call
}

/// Of the second step of a batch of 8.
OperatorCounts counts_of_step(Config const& config, std::int64_t grid) {
  auto const comm = make_self_communicator();
  auto options = train_options(config);
  StepTrial trial(options, Grid3::cube(grid), {.batch = 8}, *comm);
  trial.step();
  return count_operators([&] { trial.step(); });
}

Config config_of(std::initializer_list<std::pair<std::string, std::string>> keys) {
  Config config;
  for (auto const& [key, value] : keys) config.set(key, value);
  return config;
}

// What a coarse step costs is what it asks of the host: these numbers may fall, but not rise. They
// are one in twenty above what was reached.
TEST(OperatorCounts, OfAStepDoNotRise) {
  auto const unet = config_of({{"network.name", "unet"}, {"network.smoothing", "0"}});
  auto const plain = config_of({{"network.smoothing", "0"}});
  auto const of_unet = counts_of_step(unet, 16);
  EXPECT_LE(of_unet.operators, 4400);
  EXPECT_LE(of_unet.copies, 334);
  EXPECT_LE(of_unet.host_waits, 45);
  auto const of_levels = counts_of_step(plain, 16);
  EXPECT_LE(of_levels.operators, 4100);
  EXPECT_LE(of_levels.copies, 315);
  EXPECT_LE(of_levels.host_waits, 45);
}

}  // namespace operator_counts_test
}  // namespace voxcycle
