// SPDX-License-Identifier: BSD-3-Clause
// What the directory of a scaling study holds: what it measures, and what was measured so far, by
// this program and by jobs on other machines.
#pragma once

#include "voxcycle/study/scale_plan.hpp"
#include "voxcycle/train/fingerprint.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace voxcycle {

struct MeasuredRun {
  std::vector<ScaleTurn> turns;
  std::set<std::string> settings;  ///< where and by what: device, threads, program
};

std::map<ScaleRun, MeasuredRun> read_measured(std::string const& directory);
void write_measured(std::string const& directory, ScaleRun const& run, MeasuredRun const& measured);

/// What all measurements of the directory have in common; nothing before the first.
std::optional<Fingerprint> read_scale_study(std::string const& directory);
/// Makes the directory one of this study. @throws Error, naming what differs, if it is another's.
void begin_scale_study(std::string const& directory, Fingerprint const& study);

}  // namespace voxcycle
