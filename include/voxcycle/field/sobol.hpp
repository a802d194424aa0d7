// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

namespace voxcycle {

/// Point `index` (0, 1, ...) of a digitally shifted Sobol sequence in [0, 1)^dimension; the shift
/// (XOR of the bits with a hash of seed and axis) keeps its equidistribution. A pure function.
/// Directions by Joe and Kuo (2008), order by Gray code.
/// @param index      >= 0; costs the same for any index
/// @param dimension  1 to 3667
/// @throws Error for an index or a dimension out of range
std::vector<double> sobol_point(std::uint64_t seed, std::int64_t index, int dimension);

}  // namespace voxcycle
