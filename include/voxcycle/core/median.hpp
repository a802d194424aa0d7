// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

namespace voxcycle {

/// The value that as many lie below as above; of an even number the greater of the two in the
/// middle, so that the median of measurements is one of them. @throws Error for no values.
double median(std::vector<double> values);

}  // namespace voxcycle
