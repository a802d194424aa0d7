// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/exact_sum.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "comm/exact_sum_columns.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

constexpr std::int64_t kMaxTerms = std::int64_t{1} << 20;

}  // namespace

at::Tensor exact_sum(Communicator const& comm, at::Tensor const& terms, std::int64_t total_terms) {
  VOXCYCLE_REQUIRE(terms.dim() == 2 && terms.scalar_type() == at::kDouble,
                   "exact sum: terms must be [terms, n] of float64.");
  VOXCYCLE_REQUIRE(total_terms >= terms.size(0) && total_terms <= kMaxTerms,
                   "exact sum: " << total_terms << " terms (at most " << kMaxTerms
                                 << " leave enough bits). Sum in two levels.");
  // A sum of T terms below 2^bits stays below 2^(bits + log2 T) <= 2^62.
  int const bits =
      62 - std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(1, total_terms)));
  std::int64_t const n = terms.size(1);
  at::Tensor const rows = terms.contiguous();
  exact_columns::Terms const local{rows.const_data_ptr<double>(), rows.size(0), n};
  auto const integers = terms.options().dtype(at::kLong);
  int const device = terms.device().index();

  at::Tensor exponents = at::empty({n}, integers);
  auto* const exponent = exponents.mutable_data_ptr<std::int64_t>();
  for_elements("exact sum", device, n, exact_columns::ExponentJob{local, exponent});
  comm.all_reduce(exponents, ReduceOperation::max);

  at::Tensor limbs = at::empty({2, n}, integers);
  auto* const limb = limbs.mutable_data_ptr<std::int64_t>();
  for_elements("exact sum", device, n, exact_columns::LimbJob{local, exponent, bits, limb});
  comm.all_reduce(limbs, ReduceOperation::sum);

  at::Tensor sums = at::empty({n}, terms.options());
  auto* const sum = sums.mutable_data_ptr<double>();
  for_elements("exact sum", device, n, exact_columns::SumJob{exponent, limb, n, bits, sum});
  if (!sums.is_cpu()) return sums;
  for (std::int64_t column = 0; column < n; ++column) {
    VOXCYCLE_REQUIRE(!std::isinf(sum[column]), "exact sum: the sum exceeds the range of float64.");
  }
  return sums;
}

}  // namespace voxcycle
