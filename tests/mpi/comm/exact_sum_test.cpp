// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/exact_sum.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace exact_sum_test {

/// Rows [n * rank / size, n * (rank + 1) / size) of all terms, permuted with `seed`.
at::Tensor share_of_rank(at::Tensor const& terms, Communicator const& comm, unsigned seed) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(terms.size(0)));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  auto const permuted = terms.index_select(0, at::tensor(order));
  auto const n = terms.size(0);
  auto const begin = n * comm.rank() / comm.size();
  return permuted.narrow(0, begin, n * (comm.rank() + 1) / comm.size() - begin);
}

at::Tensor column(std::vector<double> const& values) {
  return at::tensor(values, at::kDouble).view({-1, 1});
}

at::Tensor wild_terms() {
  std::mt19937_64 engine(7);
  std::uniform_int_distribution<int> exponent(-60, 60);
  std::normal_distribution<double> normal;
  at::Tensor terms = at::empty({37, 5}, at::kDouble);
  for (std::int64_t i = 0; i < terms.numel(); ++i) {
    terms.data_ptr<double>()[i] = std::ldexp(normal(engine), exponent(engine));
  }
  return terms;
}

TEST(ExactSum, HasTheSameBitsForAnySplitAndOrder) {
  auto const comm = make_mpi_communicator();
  auto const self = make_self_communicator();
  at::Tensor const terms = wild_terms();
  at::Tensor const alone = exact_sum(*self, terms, 37);
  for (unsigned seed = 0; seed < 10; ++seed) {
    EXPECT_TRUE(at::equal(exact_sum(*comm, share_of_rank(terms, *comm, seed), 37), alone));
  }
}

TEST(ExactSum, EqualsALongDoubleSum) {
  auto const comm = make_mpi_communicator();
  at::Tensor const terms = wild_terms();
  at::Tensor const sums = exact_sum(*comm, share_of_rank(terms, *comm, 1), 37);
  for (std::int64_t j = 0; j < 5; ++j) {
    long double expected = 0;
    long double magnitude = 0;
    for (std::int64_t t = 0; t < 37; ++t) {
      expected += terms[t][j].item<double>();
      magnitude = std::max(magnitude, std::fabs(expected));
    }
    // A long double keeps 64 bits of each partial sum.
    EXPECT_NEAR(sums[j].item<double>(), static_cast<double>(expected),
                static_cast<double>(magnitude) * 0x1.0p-52);
  }
}

TEST(ExactSum, SurvivesCancellationAndSubnormals) {
  auto const comm = make_mpi_communicator();
  auto const sum_of = [&](std::vector<double> const& values) {
    return exact_sum(*comm, share_of_rank(column(values), *comm, 3),
                     static_cast<std::int64_t>(values.size()))
        .item<double>();
  };
  EXPECT_EQ(sum_of({1e18, 1.0, -1e18}), 1.0);
  EXPECT_EQ(sum_of({0x1.0p60, 1.0 + 0x1.0p-40, -0x1.0p60}), 1.0 + 0x1.0p-40);
  EXPECT_EQ(sum_of({4.9e-324, 4.9e-324, 4.9e-324}), 3 * 4.9e-324);
  EXPECT_EQ(sum_of({1e-310, -1e-310, 0.0, 4.9e-324}), 4.9e-324);
  EXPECT_EQ(sum_of({0.0, 0.0}), 0.0);
  EXPECT_EQ(sum_of({1e308, -1e308, 1e308}), 1e308);
}

TEST(ExactSum, MarksNonFiniteColumnsAndRefusesOverflow) {
  auto const comm = make_mpi_communicator();
  double const bad = comm->rank() == comm->size() - 1 ? std::nan("") : 1.0;
  at::Tensor const terms = at::tensor({bad, 2.0}, at::kDouble).view({1, 2});
  at::Tensor const sums = exact_sum(*comm, terms, comm->size());
  EXPECT_TRUE(std::isnan(sums[0].item<double>()));
  EXPECT_EQ(sums[1].item<double>(), 2.0 * comm->size());
  EXPECT_THROW(exact_sum(*comm, share_of_rank(column({1.7e308, 1.7e308, 1.7e308}), *comm, 0), 3),
               Error);
  EXPECT_THROW(exact_sum(*comm, column({1.0}), std::int64_t{1} << 40), Error);
}

TEST(ExactSum, AcceptsRanksWithoutTerms) {
  auto const comm = make_mpi_communicator();
  at::Tensor const terms = comm->rank() == 0 ? column({1.5, 2.25}) : at::zeros({0, 1}, at::kDouble);
  EXPECT_EQ(exact_sum(*comm, terms, 2).item<double>(), 3.75);
}

}  // namespace exact_sum_test
}  // namespace voxcycle
