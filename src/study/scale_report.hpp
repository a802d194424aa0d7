// SPDX-License-Identifier: BSD-3-Clause
// A scaling study for a terminal, for programs and as a page.
#pragma once

#include "voxcycle/study/scale_model.hpp"
#include "voxcycle/study/scale_plan.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace voxcycle {

struct ScaleTable {
  std::string title;  ///< e.g. "strong scaling: the same batch"
  std::string name;   ///< of its list in JSON, and of its lines in charts
  std::vector<ScaleRow> rows;
  std::vector<PredictedRow> beside;     ///< a prediction for each row; none without a model
  std::vector<PredictedRow> predicted;  ///< for more processes; likewise
};

struct ScaleStudy {
  std::string grid;  ///< e.g. "64^3"
  std::int64_t level = 0;
  std::int64_t repeats = 1;
  std::set<std::string> settings{};  ///< see MeasuredRun
  std::string input;                 ///< what steps are fed with
  std::vector<ScaleTable> tables{};
  std::optional<StepModel> model{};
  std::vector<std::string> warnings{};  ///< sentences
  std::string config;
};

std::string scale_text(ScaleStudy const& study);
std::string scale_json(ScaleStudy const& study);
/// @return one self-contained HTML page.
std::string render_scale(ScaleStudy const& study);

/// What a table says of its largest number of processes, in sentences; "" of one line.
std::string finding_of(ScaleTable const& table);
/// What the predictions are made of, in sentences.
std::string model_text(StepModel const& model);

}  // namespace voxcycle
