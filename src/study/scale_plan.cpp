// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/study/scale_plan.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

namespace voxcycle {

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
                     "a batch of " << batch << " on " << processes.front()
                                   << (processes.front() == 1 ? " process" : " processes")
                                   << " has no counterpart on " << count
                                   << ". Give a --batch that the processes share evenly.");
    runs.push_back({count, batch * count / processes.front(), together});
  }
  return runs;
}

std::vector<ScaleRow> scale_rows(std::vector<ScaleRun> const& runs,
                                 std::map<ScaleRun, ScaleTime> const& times) {
  auto const rate = [&](ScaleRun const& run) {
    return static_cast<double>(run.batch) / times.at(run).seconds;
  };
  std::vector<ScaleRow> rows;
  for (auto const& run : runs) {
    double const speedup = rate(run) / rate(runs.front());
    double const more =
        static_cast<double>(run.processes) / static_cast<double>(runs.front().processes);
    rows.push_back({run, times.at(run), speedup, speedup / more});
  }
  return rows;
}

std::string scale_table(std::string const& title, std::vector<ScaleRow> const& rows) {
  std::string text = title + "\n" +
                     format("%-10s %8s %12s %12s %10s %12s %8s\n", "processes", "batch", "a step",
                            "samples/s", "speed-up", "efficiency", "sums");
  for (auto const& row : rows) {
    text += format("%-10ld %8ld %12s %12.3g %10.2f %10.0f %% %6.0f %%\n",
                   static_cast<long>(row.run.processes), static_cast<long>(row.run.batch),
                   format_seconds(row.time.seconds).c_str(),
                   static_cast<double>(row.run.batch) / row.time.seconds, row.speedup,
                   100.0 * row.efficiency, 100.0 * row.time.reduction);
  }
  return text;
}

}  // namespace voxcycle
