// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/dataset/sampler.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace voxcycle {
namespace sampler_test {

std::vector<std::int64_t> epoch_of(Sampler const& sampler, std::int64_t samples,
                                   std::int64_t epoch) {
  std::vector<std::int64_t> order;
  for (std::int64_t place = 0; place < samples; ++place) {
    order.push_back(sampler(epoch * samples + place));
  }
  return order;
}

TEST(Sampler, EveryEpochVisitsEverySampleOnce) {
  for (std::int64_t samples : {1, 2, 3, 4, 5, 7, 16, 17, 100, 1000, 4096, 5000}) {
    Sampler const sampler(11, 2, samples);
    for (std::int64_t epoch : {0, 1, 9}) {
      std::vector<int> visits(static_cast<std::size_t>(samples), 0);
      for (std::int64_t index : epoch_of(sampler, samples, epoch)) {
        ASSERT_TRUE(index >= 0 && index < samples);
        ++visits[static_cast<std::size_t>(index)];
      }
      EXPECT_EQ(visits, std::vector<int>(visits.size(), 1)) << samples << " epoch " << epoch;
    }
  }
}

TEST(Sampler, BlocksStayTogetherAndEveryEpochIsStillWhole) {
  for (std::int64_t samples : {1, 7, 8, 64, 100}) {
    constexpr std::int64_t kBlock = 8;
    Sampler const sampler(5, 1, samples, kBlock);
    for (std::int64_t epoch : {0, 3}) {
      auto order = epoch_of(sampler, samples, epoch);
      for (std::int64_t place = 0; place + kBlock <= samples; place += kBlock) {
        for (std::int64_t k = 1; k < kBlock; ++k) {
          auto const at = static_cast<std::size_t>(place + k);
          EXPECT_EQ(order[at], order[at - 1] + 1) << samples;
        }
        EXPECT_EQ(order[static_cast<std::size_t>(place)] % kBlock, 0);
      }
      std::sort(order.begin(), order.end());
      for (std::int64_t k = 0; k < samples; ++k) EXPECT_EQ(order[static_cast<std::size_t>(k)], k);
    }
  }
  EXPECT_NE(epoch_of(Sampler(5, 1, 64, 8), 64, 0), epoch_of(Sampler(5, 1, 64, 8), 64, 1));
  EXPECT_THROW(Sampler(5, 1, 64, 0), Error);
}

TEST(Sampler, SeedStageAndEpochGiveOrdersOfTheirOwn) {
  std::vector<std::int64_t> const order = epoch_of(Sampler(1, 0, 100), 100, 0);
  EXPECT_EQ(epoch_of(Sampler(1, 0, 100), 100, 0), order);
  EXPECT_NE(epoch_of(Sampler(2, 0, 100), 100, 0), order);
  EXPECT_NE(epoch_of(Sampler(1, 1, 100), 100, 0), order);
  EXPECT_NE(epoch_of(Sampler(1, 0, 100), 100, 1), order);
  std::vector<std::int64_t> sorted(100);
  std::iota(sorted.begin(), sorted.end(), 0);
  EXPECT_NE(order, sorted);
}

TEST(Sampler, EverySampleComesFirstAboutEquallyOften) {
  // Over E epochs, each count is binomial; 5 standard deviations fail by chance once in 1e6 counts.
  constexpr int kEpochs = 20000;
  for (std::int64_t samples : {2, 3, 5, 8, 13}) {
    Sampler const sampler(3, 0, samples);
    std::vector<int> first(static_cast<std::size_t>(samples), 0);
    std::vector<int> then(static_cast<std::size_t>(samples), 0);  // second minus first, cyclic
    for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
      std::int64_t const a = sampler(epoch * samples);
      std::int64_t const b = sampler(epoch * samples + 1);
      ++first[static_cast<std::size_t>(a)];
      ++then[static_cast<std::size_t>((b - a + samples) % samples)];
    }
    auto const n = static_cast<double>(samples);
    double const deviation = std::sqrt(kEpochs / n);
    for (int count : first) EXPECT_NEAR(count, kEpochs / n, 5 * deviation) << samples;
    EXPECT_EQ(then[0], 0);
    for (std::size_t k = 1; k < then.size(); ++k) {
      EXPECT_NEAR(then[k], kEpochs / (n - 1), 5 * std::sqrt(kEpochs / (n - 1))) << samples;
    }
  }
}

TEST(Sampler, LongStagesDoNotOverflow) {
  Sampler const sampler(5, 0, std::int64_t{1} << 40);
  std::int64_t const far = sampler((std::int64_t{1} << 62) + 12345);
  EXPECT_TRUE(far >= 0 && far < (std::int64_t{1} << 40));
}

TEST(Sampler, RefusesAnEmptySetAndNegativePositions) {
  EXPECT_THROW(Sampler(1, 0, 0), Error);
  EXPECT_THROW(Sampler(1, 0, -3), Error);
  EXPECT_THROW(Sampler(1, 0, 5)(-1), Error);
}

}  // namespace sampler_test
}  // namespace voxcycle
