// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/dataset/mixture.hpp"

#include "voxcycle/core/error.hpp"

#include <array>
#include <cmath>
#include <set>

#include "shards_on_disk.hpp"
#include <gtest/gtest.h>

namespace voxcycle {
namespace mixture_test {

Mixture mixture_of(std::vector<std::int64_t> const& sizes, std::vector<double> const& weights,
                   MixtureOptions const& options) {
  std::vector<std::unique_ptr<SampleSource>> sets;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    sets.push_back(stored_samples(shards_on_disk("set" + std::to_string(k), sizes[k])));
  }
  return {std::move(sets), weights, options};
}

TEST(Mixture, OneSetKeepsTheSamplersOrder) {
  Mixture const mixture = mixture_of({10}, {0.3}, {.seed = 4, .stage = 2, .block = 2});
  Sampler const sampler(4, 2, 10, 2);
  for (std::int64_t p = 0; p < 40; ++p) EXPECT_EQ(mixture.at(p), (SampleOrigin{0, sampler(p), 0}));
}

TEST(Mixture, OrientationsAreDrawnEvenlyAndLeaveTheOrderAlone) {
  Mixture const plain = mixture_of({10}, {1}, {.seed = 4, .stage = 2});
  MixtureOptions options{.seed = 4, .stage = 2, .augmentation = Augmentation::reflections};
  Mixture const mixture = mixture_of({10}, {1}, options);
  options.stage = 3;
  Mixture const other_stage = mixture_of({10}, {1}, options);
  constexpr std::int64_t kDraws = 8000;
  std::array<int, 8> counts{};
  int as_in_other_stage = 0;
  int as_the_next = 0;
  for (std::int64_t p = 0; p < kDraws; ++p) {
    EXPECT_EQ(plain.at(p).orientation, 0);
    EXPECT_EQ(plain.at(p).index, mixture.at(p).index);
    ++counts.at(static_cast<std::size_t>(mixture.at(p).orientation));
    as_the_next += mixture.at(p).orientation == mixture.at(p + 1).orientation;
    as_in_other_stage += mixture.at(p).orientation == other_stage.at(p).orientation;
  }
  // Five standard deviations of a binomial count.
  double const tolerance = 5 * std::sqrt(kDraws * 0.125 * 0.875);
  for (int count : counts) EXPECT_NEAR(count, kDraws / 8, tolerance);
  EXPECT_NEAR(as_in_other_stage, kDraws / 8, tolerance);
  EXPECT_NEAR(as_the_next, kDraws / 8, tolerance);
}

TEST(Mixture, ReadsTurnedSamples) {
  std::vector<std::unique_ptr<SampleSource>> sets;
  sets.push_back(stored_samples(shards_on_disk("turned", 10, true, true)));
  Mixture mixture(std::move(sets), {1}, {.augmentation = Augmentation::all});
  auto const& grid = mixture.info().grid;
  auto const all = orientations(Augmentation::all, grid);
  for (std::int64_t p = 0; p < 10; ++p) {
    auto const origin = mixture.at(p);
    auto const plain = mixture.read({origin.set, origin.index});
    auto const sample = mixture.read(origin);
    auto const& orientation = all.at(static_cast<std::size_t>(origin.orientation));
    EXPECT_EQ(sample.nu, turned(plain.nu, grid, orientation));
    EXPECT_EQ(sample.omega, plain.omega);
    EXPECT_EQ(sample.f, turned(plain.f, grid, orientation));
    EXPECT_EQ(mixture.read(origin, ReadReference::no, {1, 1}).nu,
              on_planes(sample, grid, {1, 1}).nu);
    if (origin.orientation == 0) {
      EXPECT_FALSE(mixture.read(origin, ReadReference::yes).u_ref.empty());
    } else {
      EXPECT_THROW(mixture.read(origin, ReadReference::yes), Error);
    }
  }
}

TEST(Mixture, SetsAreDrawnWithTheirProbabilities) {
  Mixture const mixture = mixture_of({10, 7, 5}, {1, 2, 5}, {.seed = 4});
  constexpr std::int64_t kDraws = 40000;
  std::array<std::int64_t, 3> counts{};
  std::array<std::set<std::int64_t>, 3> seen;
  for (std::int64_t p = 0; p < kDraws; ++p) {
    auto const origin = mixture.at(p);
    auto const set = static_cast<std::size_t>(origin.set);
    ++counts.at(set);
    seen.at(set).insert(origin.index);
  }
  std::array<double, 3> const expected{0.125, 0.25, 0.625};
  for (std::size_t k = 0; k < 3; ++k) {
    double const share = static_cast<double>(counts[k]) / kDraws;
    // Five standard deviations of a binomial share.
    double const tolerance = 5 * std::sqrt(expected[k] * (1 - expected[k]) / kDraws);
    EXPECT_NEAR(share, expected[k], tolerance) << k;
  }
  EXPECT_EQ(seen[0].size(), 10U);
  EXPECT_EQ(seen[1].size(), 7U);
  EXPECT_EQ(seen[2].size(), 5U);
}

TEST(Mixture, BlocksComeFromOneSet) {
  Mixture const mixture = mixture_of({16, 16}, {1, 1}, {.seed = 1, .block = 8});
  int changes = 0;
  for (std::int64_t block = 0; block < 100; ++block) {
    int const set = mixture.at(8 * block).set;
    for (std::int64_t k = 1; k < 8; ++k) EXPECT_EQ(mixture.at(8 * block + k).set, set);
    changes += block > 0 && set != mixture.at(8 * block - 1).set;
  }
  EXPECT_GT(changes, 20);
}

TEST(Mixture, ReadsFromTheSetItNames) {
  Mixture mixture = mixture_of({4, 6}, {1, 1}, {});
  EXPECT_EQ(mixture.read({1, 5}).nu[0], 600.0F);
  EXPECT_THROW(mixture.read({0, 5}), Error);
}

TEST(Mixture, RefusesWeightsThatAreNone) {
  EXPECT_THROW(mixture_of({4, 6}, {1}, {}), Error);
  EXPECT_THROW(mixture_of({4, 6}, {1, 0}, {}), Error);
  EXPECT_THROW(mixture_of({4}, {std::nan("")}, {}), Error);
  EXPECT_THROW(mixture_of({}, {}, {}), Error);
}

}  // namespace mixture_test
}  // namespace voxcycle
