// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace voxcycle {

/// The held-out error that a study's target is set in.
enum class StudyMetric { rel_l2, energy_gap, energy_norm };

/// "rel_l2", "energy_gap" or "energy_norm". @throws Error listing them.
StudyMetric parse_study_metric(std::string const& name);
std::string to_string(StudyMetric metric);
/// "relative L2 error", "energy gap" or "energy-norm error".
std::string words_of(StudyMetric metric);

/// One held-out evaluation of a run; errors are means over samples, fractions.
struct StudyPoint {
  int stage = 0;          ///< from 0
  std::string grid;       ///< of the stage and of these errors, e.g. "32^3"
  std::int64_t step = 0;  ///< within the stage
  double seconds = 0.0;   ///< training time so far
  double work = 0.0;      ///< voxels that training steps have processed so far
  double rel_l2 = 0.0;
  double energy_gap = 0.0;
  double energy_norm = 0.0;

  double error(StudyMetric metric) const;
};

/// The error u - u* after one stage, on the run's finest grid, by wavenumber.
struct StageSpectrum {
  int stage = 0;     ///< from 0
  std::string grid;  ///< that the stage trained
  /// Energy in shell |k| = 0, 1, 2, ... (pi / longest edge) as a share of that of u*, both for
  /// nu = 1; mean over samples.
  std::vector<double> energy;
};

/// One run as the report sees it.
struct StudyRun {
  int number = 0;
  std::string label;
  std::string group;  ///< the label without the seed: runs of one group differ only in it
  std::string case_name;
  std::vector<std::pair<std::string, std::string>> settings;  ///< varied keys and their values
  std::string directory;
  std::string state;    ///< "finished", "diverged" (and finished), or why its figures are not there
  std::string failure;  ///< what ended an unfinished run, e.g. a loss that is not finite; else ""
  bool finished = false;
  std::string resources;  ///< of a finished run's last start; "" if it does not say
  std::string cycle;
  std::vector<std::string> path;  ///< grids of the stages
  std::string grid;               ///< the finest of them
  std::string loss;
  std::string norm;
  std::int64_t seed = 0;
  std::vector<StudyPoint> curve;
  std::vector<StageSpectrum> spectra;
};

/// All that a study's report shows.
struct Study {
  std::string title;
  std::vector<std::pair<std::string, std::string>> summary;  ///< what was run: name, value
  std::string baseline;                                      ///< a case; "": the first one
  StudyMetric metric = StudyMetric::rel_l2;                  ///< of the target
  double target = 0.0;  ///< an error; 0: what all seeds of the baseline end at
  std::vector<StudyRun> runs;
  std::string config;  ///< shown folded
};

/// Mean and range over the seeds of a group; NaN without a run.
struct Spread {
  double mean = std::numeric_limits<double>::quiet_NaN();
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();
};

Spread spread_of(std::vector<double> const& values);

/// Finished runs that differ only in their seed.
struct StudyGroup {
  std::string label;
  std::string case_name;
  std::string grid;
  std::vector<std::pair<std::string, std::string>> settings;  ///< without the seed
  std::vector<StudyRun const*> runs;
  std::size_t planned = 0;        ///< these runs and those that are not finished
  std::size_t failed = 0;         ///< of the latter
  std::size_t diverged = 0;       ///< of the finished runs; their errors count in all means below
  std::vector<StudyPoint> curve;  ///< mean over the runs of what all of them evaluated
  Spread rel_l2;                  ///< at the end, on the finest grid; so are the next two
  Spread energy_gap;
  Spread energy_norm;
  Spread seconds;
  Spread work;
  double target = std::numeric_limits<double>::quiet_NaN();  ///< NaN: there is none
                                                             ///< (see groups_of)
  std::vector<double> seconds_to_target;                     ///< of the runs that reached it
  /// The baseline's mean time to the same target over this group's, and the range of this ratio
  /// over the seeds; NaN unless all planned runs of both reached it, and by training.
  Spread speedup;
  std::string baseline;    ///< the label of the group it is compared with; "": there is none
  std::string resources;   ///< of its runs, each once
  bool comparable = true;  ///< whether its runs and the baseline's had the same resources

  bool complete() const { return runs.size() == planned; }
};

/// The energy-norm error above which training has diverged: three times what the run began with,
/// and at least three times that of u = 0, which is 1. Training that is merely bad stays below.
/// @param curve  of a run, or the mean over a group
double divergence_limit(std::vector<StudyPoint> const& curve);

/// The run's last evaluation on its finest grid, or null.
StudyPoint const* final_point(StudyRun const& run);

/// Whether the run's last evaluation on its finest grid is above divergence_limit or not finite.
bool diverged(StudyRun const& run);

/// @return e.g. "3", or "3 of 5, 2 failed" where runs are missing
std::string count_of(StudyGroup const& group);

/// @return "diverged", "1 of 3 diverged", or "" if none of the runs has.
std::string divergence_of(StudyGroup const& group);

/// Groups in the order of their first runs. The baseline of a group is the group of the baseline
/// case with the same settings; in a study with one case, the first group. Without Study::target a
/// group has a target where all runs of its baseline are finished, none diverged and the finest
/// grid is the same. Pointers are into `study`.
std::vector<StudyGroup> groups_of(Study const& study);

/// Training seconds from which on the error on the run's finest grid is at most `target` in every
/// later evaluation, interpolated between evaluations of one stage (linear in time and in the
/// error's logarithm); NaN if the run does not end so.
double seconds_to_target(StudyRun const& run, StudyMetric metric, double target);

/// What the study says, a sentence per group that is not its own baseline, e.g. "half_v reaches the
/// energy-norm error at which direct ends (2.8 %) in 0.16 of the time that direct takes (0.15 to
/// 0.19 over 3 seeds)."
std::vector<std::string> findings_of(Study const& study, std::vector<StudyGroup> const& groups);

/// @return the result in one sentence: the finding of the fastest group, and of how many; ""
/// without findings.
std::string result_of(Study const& study, std::vector<StudyGroup> const& groups);

/// Groups whose figures say little: the target was met before training, or training on the finest
/// grid ended above the error that it began with.
std::vector<std::string> doubts_of(Study const& study, std::vector<StudyGroup> const& groups);

/// {"title", "baseline", "target_metric", "target_error", "runs": [...], "groups": [...]}.
std::string study_json(Study const& study);
/// One line an evaluation of a run, with a header.
std::string study_csv(Study const& study);
/// @return one self-contained HTML page (inline SVG and CSS; no script, no network).
std::string render_study(Study const& study);

}  // namespace voxcycle
