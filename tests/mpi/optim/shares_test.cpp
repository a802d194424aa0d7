// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/optim/shares.hpp"

#include "voxcycle/core/error.hpp"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace shares_test {

TEST(Shares, CoverAllVariablesInWholeChunks) {
  auto const comm = make_mpi_communicator();
  for (std::int64_t n : {1L, 4096L, 5 * 4096L + 7, 100 * 4096L}) {
    Shares const shares(*comm, n);
    EXPECT_EQ(shares.begin() % Shares::kChunk, 0);
    at::Tensor const whole = at::arange(n, at::kDouble);
    at::Tensor const part = shares.part(whole);
    EXPECT_EQ(part.numel(), shares.count());
    EXPECT_TRUE(at::equal(shares.gather(part), whole)) << n;
    EXPECT_TRUE(at::equal(shares.gather(part.to(at::kFloat)), whole.to(at::kFloat))) << n;
  }
}

TEST(Shares, DotsHaveTheBitsOfOneRank) {
  auto const comm = make_mpi_communicator();
  auto const self = make_self_communicator();
  at::manual_seed(6);
  std::int64_t const n = 7 * Shares::kChunk + 13;
  at::Tensor const a = at::randn({n}, at::kDouble);
  at::Tensor const b = at::randn({n}, at::kDouble);
  at::Tensor const c = at::randn({n}, at::kFloat);
  Shares const shares(*comm, n);
  Shares const alone(*self, n);
  auto const dots = shares.dots({{shares.part(a), shares.part(b)},
                                 {shares.part(c), shares.part(b)},
                                 {shares.part(c), shares.part(c)}});
  EXPECT_EQ(dots, alone.dots({{a, b}, {c, b}, {c, c}}));
  // Rounding of n products of order 1.
  EXPECT_NEAR(dots[0], a.dot(b).item<double>(), 1e-10);
  EXPECT_NEAR(dots[1], c.to(at::kDouble).dot(b).item<double>(), 1e-10);
  EXPECT_EQ(shares.norm(shares.part(a)), alone.norm(a));
}

TEST(Shares, ANonFiniteValueIsKnownToAll) {
  auto const comm = make_mpi_communicator();
  Shares const shares(*comm, 3 * Shares::kChunk);
  at::Tensor values = at::ones({3 * Shares::kChunk}, at::kDouble);
  values[2 * Shares::kChunk + 5] = INFINITY;
  EXPECT_TRUE(std::isnan(shares.norm(shares.part(values))));
}

TEST(Shares, RefuseToShareNothing) {
  auto const comm = make_mpi_communicator();
  EXPECT_THROW(Shares(*comm, 0), Error);
}

TEST(Shares, AddScaledEqualsTheFormula) {
  at::manual_seed(6);
  at::Tensor const x = at::randn({1003}, at::kFloat);
  at::Tensor const y = at::randn({1003}, at::kDouble);
  at::Tensor const expected = y + x.to(at::kDouble) * 0.3;
  at::Tensor const got = y.clone();
  add_scaled(got, x, 0.3);
  EXPECT_TRUE(at::allclose(got, expected, 1e-15, 1e-15));
}

}  // namespace shares_test
}  // namespace voxcycle
