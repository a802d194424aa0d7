// SPDX-License-Identifier: BSD-3-Clause
#include "study/scale_report.hpp"

#include "voxcycle/core/json.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/study/runner.hpp"

namespace voxcycle {
namespace {

Json measured_json(ScaleTable const& table) {
  auto all = Json::array();
  for (std::size_t k = 0; k < table.rows.size(); ++k) {
    auto const& row = table.rows[k];
    std::vector<double> each;
    for (auto const& turn : row.turns) each.push_back(turn.seconds);
    auto members = Json::object({{"processes", row.run.processes},
                                 {"batch", row.run.batch},
                                 {"processes_a_sample", row.run.together},
                                 {"seconds", row.seconds.mean},
                                 {"seconds_low", row.seconds.low},
                                 {"seconds_high", row.seconds.high},
                                 {"seconds_each", each},
                                 {"speedup", row.speedup},
                                 {"efficiency", row.efficiency.mean},
                                 {"efficiency_low", row.efficiency.low},
                                 {"efficiency_high", row.efficiency.high},
                                 {"computing_share", row.mean.computing()},
                                 {"waiting_share", row.mean.waiting},
                                 {"reducing_share", row.mean.reducing},
                                 {"input_share", row.mean.input}});
    if (!table.beside.empty()) members["predicted_seconds"] = table.beside[k].seconds;
    all.push_back(members);
  }
  return all;
}

Json predicted_json(std::vector<PredictedRow> const& rows) {
  auto all = Json::array();
  for (auto const& row : rows) {
    all.push_back(Json::object({{"processes", row.run.processes},
                                {"batch", row.run.batch},
                                {"processes_a_sample", row.run.together},
                                {"micro_batches_in_turn", row.units},
                                {"predicted_seconds", row.seconds},
                                {"predicted_speedup", row.speedup},
                                {"predicted_efficiency", row.efficiency},
                                {"predicted_reducing_share", row.reducing},
                                {"predicted_exchanging_share", row.exchanging}}));
  }
  return all;
}

Json model_json(StepModel const& model) {
  auto const calls_json = [](Calls const& calls) {
    return Json::object({{"calls", calls.count}, {"bytes", calls.bytes}});
  };
  auto steps = Json::array();
  for (auto const& [together, step] : model.traffic) {
    auto sums = Json::array();
    for (auto const& calls : step.sums) sums.push_back(calls_json(calls));
    steps.push_back(Json::object({{"processes_a_sample", together},
                                  {"sums", sums},
                                  {"in_group", calls_json(step.in_group.all())},
                                  {"computing", step.computing}}));
  }
  return Json::object({{"latency_seconds", model.network.latency},
                       {"bytes_a_second", model.network.bandwidth},
                       {"steps", steps}});
}

std::string predicted_table(ScaleTable const& table) {
  std::string text =
      "PREDICTED, not measured: " + table.title + "\n" +
      format("%-9s %8s %8s %14s %10s %9s %10s %9s %11s\n", "processes", "a sample", "batch",
             "micro-batches", "a step", "speed-up", "efficiency", "reducing", "exchanging");
  for (auto const& row : table.predicted) {
    text += format("%-9ld %8ld %8ld %14ld %10s %9.2f %8.1f %% %7.1f %% %9.1f %%\n",
                   static_cast<long>(row.run.processes), static_cast<long>(row.run.together),
                   static_cast<long>(row.run.batch), static_cast<long>(row.units),
                   step_time(row.seconds).c_str(), row.speedup, 100.0 * row.efficiency,
                   100.0 * row.reducing, 100.0 * row.exchanging);
  }
  return text;
}

/// How far predictions are from what was measured.
std::string check_table(ScaleTable const& table) {
  std::string text =
      format("%-9s %8s %10s %10s %10s\n", "processes", "batch", "measured", "predicted", "off by");
  for (std::size_t k = 0; k < table.rows.size(); ++k) {
    auto const& row = table.rows[k];
    double const predicted = table.beside[k].seconds;
    text += format("%-9ld %8ld %10s %10s %8.1f %%\n", static_cast<long>(row.run.processes),
                   static_cast<long>(row.run.batch), step_time(row.seconds.mean).c_str(),
                   step_time(predicted).c_str(), 100.0 * (predicted / row.seconds.mean - 1.0));
  }
  return text;
}

}  // namespace

std::string finding_of(ScaleTable const& table) {
  if (table.rows.size() < 2) return {};
  auto const& row = table.rows.back();
  return table.title.substr(0, table.title.find(':')) +
         format(
             ": %s are %.2f times as fast as %ld, an efficiency of %.1f %% (%.1f to %.1f %% in "
             "%zu turns). Of a step there, %.0f %% is computing, %.0f %% waiting for the last "
             "process, %.0f %% reducing, %.0f %% input.",
             process_count_text(row.run.processes).c_str(), row.speedup,
             static_cast<long>(table.rows.front().run.processes), 100.0 * row.efficiency.mean,
             100.0 * row.efficiency.low, 100.0 * row.efficiency.high, row.turns.size(),
             100.0 * row.mean.computing(), 100.0 * row.mean.waiting, 100.0 * row.mean.reducing,
             100.0 * row.mean.input);
}

std::string model_text(StepModel const& model) {
  std::string sums;
  for (auto const& calls : model.traffic.at(1).sums) {
    sums += (sums.empty() ? "" : " and ") +
            format("%ld all-reduces of %s together", static_cast<long>(calls.count),
                   format_bytes(static_cast<double>(calls.bytes)).c_str());
  }
  std::string text =
      "A predicted step is what the process with the most micro-batches was measured to compute "
      "on the first number of processes, and then " +
      sums +
      format(
          ", each by the cheaper of a ring and recursive doubling (Thakur, Rabenseifner, "
          "Gropp 2005) with a latency of %.3g us and a bandwidth of %.3g GB/s. Nothing "
          "overlaps, nobody is late, and messages do not share links.",
          1e6 * model.network.latency, 1e-9 * model.network.bandwidth);
  if (model.traffic.size() == 1) return text;
  auto const& [together, largest] = *model.traffic.rbegin();
  return text +
         format(
             " Of processes that compute a sample together, computing follows the planes that each "
             "has, on a line through what was measured; they send planes to neighbours, gather "
             "coarse grids and sum: %s in %ld calls per micro-batch of each of %ld processes.",
             format_bytes(static_cast<double>(largest.in_group.all().bytes)).c_str(),
             static_cast<long>(largest.in_group.all().count), static_cast<long>(together));
}

std::string scale_text(ScaleStudy const& study) {
  std::string text = "training step at " + study.grid + " on " +
                     join({study.settings.begin(), study.settings.end()}, " | ") + ", " +
                     study.input + "\nmeans and ranges of turns\n";
  for (auto const& table : study.tables) {
    if (!table.rows.empty()) text += "\n" + scale_table(table.title, table.rows);
    if (!table.beside.empty()) text += "\nprediction beside measurement\n" + check_table(table);
    if (!table.predicted.empty()) text += "\n" + predicted_table(table);
  }
  if (study.model) text += "\n" + model_text(*study.model) + "\n";
  return text;
}

std::string scale_json(ScaleStudy const& study) {
  auto members = Json::object({{"grid", study.level},
                               {"settings", study.settings},
                               {"input", study.input},
                               {"repeats", study.repeats},
                               {"warnings", study.warnings}});
  for (auto const& table : study.tables) members[table.name] = measured_json(table);
  if (study.model) {
    members["model"] = model_json(*study.model);
    for (auto const& table : study.tables) {
      members[table.name + "_predicted"] = predicted_json(table.predicted);
    }
  }
  return document(members);
}

}  // namespace voxcycle
