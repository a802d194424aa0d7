// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

namespace voxcycle {

/// Spearman's rank correlation of pairs: 1 where a and b rise together, -1 where one falls as the
/// other rises. Equal values share the mean of their ranks. Pairs with a value that is not finite
/// do not count. @return NaN for fewer than two pairs, or where all values of one are equal.
double rank_correlation(std::vector<double> const& a, std::vector<double> const& b);

}  // namespace voxcycle
