// SPDX-License-Identifier: BSD-3-Clause
#include "train/sample_numbers.hpp"

#include "voxcycle/train/loss.hpp"

#include <vector>

#include "loss_fields.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace sample_numbers_test {

TEST(SampleNumbers, AreComputedOnceForEachSample) {
  SampleNumbers numbers;
  int computed = 0;
  auto const of = [&](std::vector<SampleOrigin> const& samples, at::Tensor const& values) {
    return numbers.of(samples, [&] {
      ++computed;
      return values;
    });
  };
  at::Tensor const two = at::rand({2, 3}, at::kDouble);
  EXPECT_TRUE(at::equal(of({{0, 5}, {1, 5}}, two), two));
  EXPECT_TRUE(at::equal(of({{1, 5}, {0, 5}}, {}), two.flip(0)));
  EXPECT_EQ(computed, 1);
  at::Tensor const turned = at::rand({1, 3}, at::kDouble);
  EXPECT_TRUE(at::equal(of({{0, 5, 7}}, turned), turned));
  EXPECT_EQ(computed, 2);
  EXPECT_TRUE(at::equal(of({}, turned), turned));
  EXPECT_EQ(computed, 3);
}

TEST(SampleNumbers, LeaveLossesTheirBits) {
  testing::LossFields const f({Grid3::cube(8), Boundary{}, Source{}});
  for (auto const* name : {"energy_normalised", "energy_multigrid"}) {
    auto const loss = make_loss(name, f.problem);
    auto const first = loss->evaluate(f.in);
    auto known = f.in;
    for (std::int64_t k = 0; k < f.in.nu.size(0); ++k) known.samples.push_back({.index = k});
    for (int time = 0; time < 2; ++time) {
      auto const found = loss->evaluate(known);
      EXPECT_TRUE(at::equal(found.values, first.values)) << name;
      EXPECT_TRUE(at::equal(found.gradient, first.gradient)) << name;
    }
  }
}

}  // namespace sample_numbers_test
}  // namespace voxcycle
