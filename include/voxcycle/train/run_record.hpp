// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace voxcycle {

/// What a search for a minimum tells of a step; NaN where no search was.
struct SearchFigures {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double gradient_norm = kNone;  ///< Euclidean, of the fixed samples' mean loss
  double step_length = kNone;    ///< along the direction; 1: all of it
  double evaluations = kNone;    ///< passes over the fixed samples in this step
  double skipped = kNone;        ///< curvature pairs refused so far in the stage
};

/// One line of metrics.csv: what is known after a step or an evaluation.
struct MetricRow {
  int stage = 0;                        ///< counted from 0; from 1 in the file
  std::string grid;                     ///< e.g. "32^3"
  std::int64_t step = 0;                ///< within the stage
  double seconds = 0.0;                 ///< training wall time so far, without evaluations
  std::int64_t work = 0;                ///< voxels that training processed so far
  double loss = 0.0;                    ///< batch loss; NaN on evaluation rows
  double rel_l2_mean = 0.0;             ///< held-out figures; NaN on training rows
  double energy_gap_mean = 0.0;         ///< a fraction
  double energy_norm_error_mean = 0.0;  ///< a fraction
  SearchFigures search{};               ///< on L-BFGS's training rows
};

/// What TensorBoard shows of a step beside its row; NaN where it is not known.
struct StepFigures {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double rate = kNone;
  double samples_per_second = kNone;  ///< of all processes
  double gradient_norm = kNone;       ///< Euclidean, of the batch's mean loss
  double update_ratio = kNone;        ///< |w - w before| / |w before|, of all weights w
  double memory = kNone;              ///< of rank 0's process, GiB
  double loss_scale = kNone;
};

/// The rows as CSV with a header line; NaN cells are empty.
std::string metrics_to_csv(std::vector<MetricRow> const& rows);
/// The inverse. @throws Error naming the line that does not fit.
std::vector<MetricRow> metrics_from_csv(std::string const& text);

/// The growing record of a run on rank 0: rows in memory, metrics.csv and a TensorBoard event file
/// in the run directory.
class RunRecord {
 public:
  /// @param rows     what a resumed run already has; metrics.csv is rewritten with them
  /// @param summary  of the run, Markdown for TensorBoard; may be empty
  /// @param settings  for TensorBoard's comparison of runs; may be empty
  RunRecord(std::string const& directory, std::vector<MetricRow> rows, std::string summary = {},
            std::vector<std::pair<std::string, std::string>> settings = {});
  ~RunRecord();
  RunRecord(RunRecord const&) = delete;
  RunRecord& operator=(RunRecord const&) = delete;

  /// @param global_step  step over all stages, the abscissa in TensorBoard
  void add(MetricRow const& row, std::int64_t global_step);
  /// To TensorBoard, after the step's row. @param shares  by rank, see Waiting
  void add_waiting(std::vector<double> const& shares, std::int64_t global_step);
  /// To TensorBoard, after the step's row.
  void add_figures(StepFigures const& figures, std::int64_t global_step);
  /// To TensorBoard, after a row. @param png  a picture
  void add_picture(std::string const& tag, std::string const& png, std::int64_t global_step);
  /// Brings metrics.csv up to date. @return its text. @throws Error if the disk is full.
  std::string save() const;
  std::vector<MetricRow> const& rows() const { return rows_; }

 private:
  struct Events;
  std::string directory_;
  std::vector<MetricRow> rows_;
  std::string summary_;
  std::vector<std::pair<std::string, std::string>> settings_;
  std::unique_ptr<Events> events_;  ///< from the first row on
};

}  // namespace voxcycle
