// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/median.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <iterator>

namespace voxcycle {

double median(std::vector<double> values) {
  VOXCYCLE_REQUIRE(!values.empty(), "there is no median of no values. Measure at least once.");
  auto const middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace voxcycle
