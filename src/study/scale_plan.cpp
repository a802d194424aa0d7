// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/study/scale_plan.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

namespace voxcycle {
namespace {

ScaleTurn mean_of(std::vector<ScaleTurn> const& turns) {
  ScaleTurn mean;
  for (auto const& turn : turns) {
    auto const count = static_cast<double>(turns.size());
    mean.seconds += turn.seconds / count;
    mean.waiting += turn.waiting / count;
    mean.reducing += turn.reducing / count;
    mean.input += turn.input / count;
  }
  return mean;
}

std::string in_percent(double fraction) {
  return format("%.1f", 100.0 * fraction);
}

}  // namespace

std::vector<ScaleRun> strong_scaling(std::vector<std::int64_t> const& processes, std::int64_t batch,
                                     std::int64_t together) {
  std::vector<ScaleRun> runs;
  for (auto const count : processes) runs.push_back({count, batch, together});
  return runs;
}

std::vector<ScaleRun> space_scaling(std::vector<std::int64_t> const& processes,
                                    std::int64_t batch) {
  std::vector<ScaleRun> runs;
  for (auto const count : processes) runs.push_back({count, batch, count});
  return runs;
}

std::vector<ScaleRun> weak_scaling(std::vector<std::int64_t> const& processes, std::int64_t batch,
                                   std::int64_t together) {
  std::vector<ScaleRun> runs;
  for (auto const count : processes) {
    VOXCYCLE_REQUIRE(batch * count % processes.front() == 0,
                     "a batch of " << batch << " on "
                                   << counted(processes.front(), "process", "processes")
                                   << " has no counterpart on " << count
                                   << ". Give a --batch that the processes share evenly.");
    runs.push_back({count, batch * count / processes.front(), together});
  }
  return runs;
}

std::vector<ScaleRow> scale_rows(std::vector<ScaleRun> const& runs, ScaleTimes const& times) {
  std::vector<ScaleRow> rows;
  for (auto const& run : runs) {
    auto const found = times.find(run);
    if (found == times.end() || found->second.empty()) continue;
    auto const& turns = found->second;
    auto const& first = rows.empty() ? run : rows.front().run;
    auto const& base = times.at(first);
    double const more = static_cast<double>(run.processes) / static_cast<double>(first.processes);
    std::vector<double> seconds, efficiencies;
    for (std::size_t k = 0; k < turns.size(); ++k) {
      seconds.push_back(turns[k].seconds);
      double const speedup = static_cast<double>(run.batch) / turns[k].seconds /
                             (static_cast<double>(first.batch) / base[k % base.size()].seconds);
      efficiencies.push_back(speedup / more);
    }
    Spread const efficiency = spread_of(efficiencies);
    rows.push_back(
        {run, turns, spread_of(seconds), mean_of(turns), efficiency.mean * more, efficiency});
  }
  return rows;
}

std::string step_time(double seconds) {
  return seconds < 1.0 ? format_seconds(seconds) : format("%.2f s", seconds);
}

std::string scale_table(std::string const& title, std::vector<ScaleRow> const& rows) {
  std::string text = title + "\n" +
                     format("%-9s %6s %10s %23s %9s %8s %10s %16s %9s %7s %8s %5s\n", "processes",
                            "batch", "a step", "(range)", "samples/s", "speed-up", "efficiency",
                            "(range)", "computing", "waiting", "reducing", "input");
  auto const range = [](std::string const& low, std::string const& high) {
    return "(" + low + " to " + high + ")";
  };
  for (auto const& row : rows) {
    auto const& mean = row.mean;
    text += format(
        "%-9ld %6ld %10s %23s %9.3g %8.2f %8s %% %16s %7.0f %% %5.0f %% %6.0f %% %3.0f %%\n",
        static_cast<long>(row.run.processes), static_cast<long>(row.run.batch),
        step_time(row.seconds.mean).c_str(),
        range(step_time(row.seconds.low), step_time(row.seconds.high)).c_str(),
        static_cast<double>(row.run.batch) / row.seconds.mean, row.speedup,
        in_percent(row.efficiency.mean).c_str(),
        range(in_percent(row.efficiency.low), in_percent(row.efficiency.high)).c_str(),
        100.0 * mean.computing(), 100.0 * mean.waiting, 100.0 * mean.reducing, 100.0 * mean.input);
  }
  return text;
}

}  // namespace voxcycle
