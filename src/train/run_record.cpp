// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/run_record.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/io/event_file.hpp"

#include <cmath>
#include <filesystem>
#include <limits>
#include <sstream>

namespace voxcycle {
namespace {

constexpr char const* kHeader =
    "stage,grid,step,seconds,work,loss,rel_l2_mean,energy_gap_mean,energy_norm_error_mean,"
    "gradient_norm,step_length,evaluations,skipped_pairs";
constexpr std::size_t kCells = 13;

std::string cell(double value) {
  return std::isnan(value) ? "" : format("%.9g", value);
}

/// A run that goes on compares gaps with those before: to the last bit.
std::string exact_cell(double value) {
  return std::isnan(value) ? "" : format("%.17g", value);
}

double number(std::string const& text) {
  return text.empty() ? std::numeric_limits<double>::quiet_NaN() : std::stod(text);
}

/// Text as Markdown that is shown as it is.
std::string as_code(std::string const& text) {
  std::string code = "    ";
  for (char const c : text) code += c == '\n' ? "\n    " : std::string(1, c);
  return code;
}

}  // namespace

std::string metrics_to_csv(std::vector<MetricRow> const& rows) {
  std::string text = std::string(kHeader) + "\n";
  for (auto const& row : rows) {
    text += std::to_string(row.stage + 1) + "," + row.grid + "," + std::to_string(row.step) + "," +
            cell(row.seconds) + "," + std::to_string(row.work) + "," + cell(row.loss) + "," +
            cell(row.rel_l2_mean) + "," + exact_cell(row.energy_gap_mean) + "," +
            cell(row.energy_norm_error_mean) + "," + cell(row.search.gradient_norm) + "," +
            cell(row.search.step_length) + "," + cell(row.search.evaluations) + "," +
            cell(row.search.skipped) + "\n";
  }
  return text;
}

std::vector<MetricRow> metrics_from_csv(std::string const& text) {
  if (text.empty()) return {};
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  VOXCYCLE_REQUIRE(line == kHeader,
                   "metrics: the header is '" << line << "', not '" << kHeader << "'.");
  std::vector<MetricRow> rows;
  int first = 0;
  while (std::getline(lines, line)) {
    // A trailing empty cell counts too.
    auto const cells = split_list(line + ",end");
    VOXCYCLE_REQUIRE(cells.size() == kCells + 1,
                     "metrics: the line '" << line << "' has not " << kCells << " cells.");
    try {
      // Files of older runs count from 0: each begins with the first stage.
      int const stage = std::stoi(cells[0]);
      if (rows.empty()) first = stage;
      rows.push_back({stage - first,
                      cells[1],
                      std::stoll(cells[2]),
                      number(cells[3]),
                      std::stoll(cells[4]),
                      number(cells[5]),
                      number(cells[6]),
                      number(cells[7]),
                      number(cells[8]),
                      {number(cells[9]), number(cells[10]), number(cells[11]), number(cells[12])}});
    } catch (std::logic_error const&) {
      throw Error("metrics: the line '" + line + "' holds a cell that is no number.");
    }
  }
  return rows;
}

struct RunRecord::Events {
  EventFile file;
};

RunRecord::RunRecord(std::string const& directory, std::vector<MetricRow> rows, std::string summary,
                     std::vector<std::pair<std::string, std::string>> settings)
    : directory_(directory),
      rows_(std::move(rows)),
      summary_(std::move(summary)),
      settings_(std::move(settings)) {
  save();
}

RunRecord::~RunRecord() = default;

void RunRecord::add(MetricRow const& row, std::int64_t global_step) {
  rows_.push_back(row);
  if (!events_) {
    // An evaluation belongs to a step whose loss may stand in an earlier file.
    std::int64_t const first = global_step + (std::isnan(row.loss) ? 1 : 0);
    events_ = std::make_unique<Events>(Events{EventFile(directory_, first)});
    if (!summary_.empty()) events_->file.add_text("run/summary", first, summary_);
    auto const config = directory_ + "/config.cfg";
    if (std::filesystem::exists(config)) {
      events_->file.add_text("run/config", first, as_code(read_file(config)));
    }
    if (!settings_.empty()) events_->file.add_settings(settings_);
  }
  auto const scalar = [&](std::string const& tag, double value) {
    if (!std::isnan(value)) events_->file.add_scalar(tag, global_step, value);
  };
  scalar("train/loss", row.loss);
  scalar("train/gradient_norm", row.search.gradient_norm);
  scalar("train/step_length", row.search.step_length);
  // A curve a grid: on entering one, errors are of the step that ended the stage before, and of two
  // values of a step TensorBoard shows the later.
  scalar("held_out/rel_l2/" + row.grid, row.rel_l2_mean);
  scalar("held_out/energy_gap/" + row.grid, row.energy_gap_mean);
  scalar("held_out/energy_norm_error/" + row.grid, row.energy_norm_error_mean);
}

void RunRecord::add_waiting(std::vector<double> const& shares, std::int64_t global_step) {
  for (std::size_t rank = 0; rank < shares.size(); ++rank)
    events_->file.add_scalar(format("waited/process_%zu", rank), global_step, shares[rank]);
}

void RunRecord::add_figures(StepFigures const& figures, std::int64_t global_step) {
  for (auto const& [tag, value] :
       {std::pair{"train/rate", figures.rate},
        std::pair{"train/samples_per_second", figures.samples_per_second},
        std::pair{"train/gradient_norm", figures.gradient_norm},
        std::pair{"train/update_ratio", figures.update_ratio},
        std::pair{"train/memory_gib", figures.memory},
        std::pair{"train/loss_scale", figures.loss_scale}}) {
    if (!std::isnan(value)) events_->file.add_scalar(tag, global_step, value);
  }
}

void RunRecord::add_picture(std::string const& tag, std::string const& png,
                            std::int64_t global_step) {
  events_->file.add_image(tag, global_step, png);
}

std::string RunRecord::save() const {
  auto text = metrics_to_csv(rows_);
  write_file_atomically(directory_ + "/metrics.csv", text);
  return text;
}

}  // namespace voxcycle
