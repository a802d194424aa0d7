// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/evaluate/rank_correlation.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace voxcycle {
namespace {

std::vector<double> ranks_of(std::vector<double> const& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    double const shared = 0.5 * static_cast<double>(begin + 1 + end);
    for (std::size_t k = begin; k < end; ++k) ranks[order[k]] = shared;
  }
  return ranks;
}

}  // namespace

double rank_correlation(std::vector<double> const& a, std::vector<double> const& b) {
  VOXCYCLE_REQUIRE(a.size() == b.size(), "a rank correlation of " << a.size() << " and " << b.size()
                                                                  << " values. Give pairs.");
  std::vector<double> of_a, of_b;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (!std::isfinite(a[k]) || !std::isfinite(b[k])) continue;
    of_a.push_back(a[k]);
    of_b.push_back(b[k]);
  }
  auto const x = ranks_of(of_a), y = ranks_of(of_b);
  double const mean = 0.5 * static_cast<double>(x.size() + 1);
  double xx = 0.0, yy = 0.0, xy = 0.0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    xx += (x[k] - mean) * (x[k] - mean);
    yy += (y[k] - mean) * (y[k] - mean);
    xy += (x[k] - mean) * (y[k] - mean);
  }
  if (xx == 0.0 || yy == 0.0) return std::numeric_limits<double>::quiet_NaN();
  return xy / std::sqrt(xx * yy);
}

}  // namespace voxcycle
