// SPDX-License-Identifier: BSD-3-Clause
// What a call of scale measures, and what it has in common with others in the same directory.
#pragma once

#include "voxcycle/study/scale.hpp"
#include "voxcycle/study/scale_plan.hpp"
#include "voxcycle/train/trainer.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "study/scale_results.hpp"

namespace voxcycle {

struct ScalePlan {
  std::string directory;
  Fingerprint study;                 ///< what all measurements of the directory have in common
  std::int64_t first = 1;            ///< number of processes of the study
  std::vector<std::int64_t> counts;  ///< numbers of processes of this call; none of a report
  TrainOptions training;
  LevelPlan level;  ///< of the step
  std::int64_t batch = 1;
  bool reads_samples = false;
};

/// What is not asked for is as the directory's other measurements have it.
ScalePlan plan_of(Config const& config, ScaleOptions const& options);

/// A table of the result: its title, its name in JSON, and its runs.
struct PlannedTable {
  char const* title;
  char const* name;
  std::vector<ScaleRun> runs;
};

/// @param processes  rising, the study's first number in front
/// @throws Error unless the processes of every run can share out samples of the grid.
std::vector<PlannedTable> tables_of(ScalePlan const& plan, bool in_space,
                                    std::vector<std::int64_t> const& processes);

/// Runs that nothing measures: on up to kMostPredicted processes and, in space, on that many in
/// groups of each size.
std::vector<PlannedTable> predicted_tables(ScalePlan const& plan, bool in_space);

/// Numbers of processes of this call and of measurements that are there, the study's first in
/// front.
std::vector<std::int64_t> all_counts(ScalePlan const& plan,
                                     std::map<ScaleRun, MeasuredRun> const& measured);

/// Those of this call's numbers of processes, each once.
/// @param computing  see computing_runs
std::vector<ScaleRun> wanted_runs(ScalePlan const& plan, std::vector<PlannedTable> const& tables,
                                  std::vector<ScaleRun> const& computing);

}  // namespace voxcycle
