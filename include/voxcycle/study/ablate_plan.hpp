// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/config/config.hpp"

#include <string>
#include <utility>
#include <vector>

namespace voxcycle {

/// One run of a study.
struct PlannedRun {
  int number = 0;                                             ///< from 1, in the order of the plan
  std::string case_name;                                      ///< "" in a study without cases
  std::vector<std::pair<std::string, std::string>> settings;  ///< what [vary] gave it: key, value
  std::string label;      ///< for people, e.g. "half_v, loss energy, seed 2"
  std::string group;      ///< the label without run.seed
  std::string directory;  ///< the same name wherever in the plan the run stands
  Config config;          ///< resolved, without the study
};

/// All runs that a config describes: each case crossed with each combination of alternatives, cases
/// outermost and the last line of [vary] varying fastest. Example: cases a, b and "run.seed = 1 |
/// 2" give a 1, a 2, b 1, b 2.
/// @throws Error for a config without a study, a key that both a case and [vary] set, or a baseline
/// that is no case.
std::vector<PlannedRun> plan_study(Config const& config);

/// Text that is the same for configs with the same data: same families, boundary and grids.
std::string data_fingerprint(Config const& config);

}  // namespace voxcycle
