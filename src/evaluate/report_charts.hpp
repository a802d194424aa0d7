// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/evaluate/report.hpp"

#include <string>
#include <vector>

namespace voxcycle {

/// @return the section with both charts against training time, the loss and the held-out errors,
/// stages marked; a sentence instead where there is nothing to draw.
std::string render_charts(std::vector<MetricRow> const& metrics);

}  // namespace voxcycle
