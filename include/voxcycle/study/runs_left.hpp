// SPDX-License-Identifier: BSD-3-Clause
// How long the runs of a study will still take.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace voxcycle {

/// Share of its work that a training says is done, [0, 1]: the newest progress line of its output
/// tells; 0 where there is none.
double told_share(std::string const& output);

/// Seconds until all runs have ended, if they go on as they went; NaN where none has got anywhere.
/// @param spent    seconds since the first of them started
/// @param ended    of them
/// @param shares   that are done of those under way
/// @param to_come  runs that have not begun
double seconds_left_of_runs(double spent, double ended, std::vector<double> const& shares,
                            std::size_t to_come);

}  // namespace voxcycle
