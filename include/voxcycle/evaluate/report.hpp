// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/evaluate/comparison.hpp"
#include "voxcycle/report/pictures.hpp"
#include "voxcycle/train/run_record.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace voxcycle {

/// Errors of one held-out sample; fractions, not per cent.
struct SampleErrors {
  std::int64_t index = 0;
  double rel_l2 = 0.0;             ///< |u - u*| / |u*| over nodes
  double energy_gap = 0.0;         ///< (J(u) - J(u*)) / (1/2 |u*|_K^2)
  double energy_norm_error = 0.0;  ///< |u - u*|_K / |u*|_K
};

/// What samples are ranked by: the relative L2 error, infinite where any of the errors is no finite
/// number.
double badness(SampleErrors const& errors);

/// All that report.html shows.
struct ReportInput {
  std::string title;
  std::vector<std::pair<std::string, std::string>> summary;  ///< what was run: name, value
  std::vector<MetricRow> metrics;
  std::string grid;  ///< of the errors below
  std::vector<SampleErrors> errors;
  std::optional<Comparison> comparison;  ///< with classical solvers, if measured
  std::vector<SamplePictures> samples;
  std::string config;  ///< the resolved config, shown folded
};

/// @return one self-contained HTML page (inline SVG, CSS and PNG; no script, no network) that a
/// person reads in a minute.
std::string render_report(ReportInput const& input);

}  // namespace voxcycle
