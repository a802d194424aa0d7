// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/exact_sum.hpp"

#include "voxcycle/core/random.hpp"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

/// Columns of many magnitudes; some cancel, one is zero, some are subnormal or not finite.
at::Tensor terms(std::int64_t count) {
  constexpr std::int64_t columns = 290;
  at::Tensor const values = at::zeros({count, columns}, at::kDouble);
  for (std::int64_t t = 0; t < count; ++t) {
    auto* const row = values.mutable_data_ptr<double>() + t * columns;
    for (std::int64_t c = 1; c < columns; ++c) {
      auto const key = static_cast<std::uint64_t>(t * columns + c);
      // The first of five terms is of the column's own size, others are smaller.
      int const exponent = static_cast<int>(c) * 7 - 1060 - static_cast<int>(t % 5) * 20;
      row[c] = std::ldexp(hash_uniform({3, key}) - 0.5, exponent);
    }
    row[2] = t % 2 == 0 ? 1e18 : -1e18;
  }
  if (count > 0) {
    values[count / 2][7] = std::numeric_limits<double>::infinity();
    values[count - 1][8] = std::numeric_limits<double>::quiet_NaN();
  }
  return values;
}

TEST(ExactSumOnGpu, HasTheBitsOfTheCpu) {
  auto const comm = make_self_communicator();
  for (std::int64_t count : {0, 1, 6, 37}) {
    at::Tensor const values = terms(count);
    at::Tensor const expected = exact_sum(*comm, values, 64);
    at::Tensor const found = exact_sum(*comm, values.cuda(), 64);
    EXPECT_TRUE(found.is_cuda());
    EXPECT_TRUE(at::equal(found.cpu().view(at::kLong), expected.view(at::kLong))) << count;
    EXPECT_EQ(expected.isnan().sum().item<std::int64_t>(), count > 0 ? 2 : 0);
  }
}

TEST(ExactSumOnGpu, IsInfiniteWhereTheCpuRefuses) {
  auto const comm = make_self_communicator();
  at::Tensor const values = at::full({2, 1}, 1.7e308, at::kDouble).cuda();
  EXPECT_TRUE(std::isinf(exact_sum(*comm, values, 2).item<double>()));
}

}  // namespace
}  // namespace voxcycle
