// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/run_record.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"

#include <cmath>
#include <filesystem>
#include <limits>

#include <gtest/gtest.h>

namespace voxcycle {
namespace run_record_test {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<MetricRow> two_rows() {
  return {{0, "8^3", 1, 0.25, 4096, 0.75, kNan, kNan, kNan, {0.5, 0.125, 2, 3}},
          {1, "16^3", 20, 3.5, 9000000000, kNan, 0.0125, 0.25, 0.5}};
}

TEST(RunRecord, CsvReadsBackAsItself) {
  auto const text = metrics_to_csv(two_rows());
  auto const rows = metrics_from_csv(text);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].loss, 0.75);
  EXPECT_EQ(rows[1].work, 9000000000);
  EXPECT_EQ(rows[0].search.gradient_norm, 0.5);
  EXPECT_EQ(rows[0].search.step_length, 0.125);
  EXPECT_EQ(rows[0].search.evaluations, 2);
  EXPECT_EQ(rows[0].search.skipped, 3);
  EXPECT_TRUE(std::isnan(rows[1].search.gradient_norm));
  EXPECT_TRUE(std::isnan(rows[0].rel_l2_mean));
  EXPECT_EQ(rows[1].grid, "16^3");
  EXPECT_EQ(rows[1].energy_norm_error_mean, 0.5);
  EXPECT_EQ(metrics_to_csv(rows), text);
}

TEST(RunRecord, StagesOfFilesCountFromOneAndOfOlderOnesFromZero) {
  auto const text = metrics_to_csv(two_rows());
  EXPECT_NE(text.find("\n1,8^3,1,"), std::string::npos) << text;
  EXPECT_NE(text.find("\n2,16^3,20,"), std::string::npos) << text;
  auto const header = text.substr(0, text.find('\n') + 1);
  auto const old = metrics_from_csv(header + "0,8^3,1,0,1,1,,,,,,,\n1,16^3,1,0,1,1,,,,,,,\n");
  ASSERT_EQ(old.size(), 2U);
  EXPECT_EQ(old[0].stage, 0);
  EXPECT_EQ(old[1].stage, 1);
}

TEST(RunRecord, NothingHasNoRows) {
  EXPECT_TRUE(metrics_from_csv("").empty());
}

TEST(RunRecord, RefusesForeignText) {
  EXPECT_THROW(metrics_from_csv("a,b,c\n"), Error);
  auto const text = metrics_to_csv(two_rows());
  EXPECT_THROW(metrics_from_csv(text + "1,8^3,x,,,,,,,,,,\n"), Error);
  EXPECT_THROW(metrics_from_csv(text + "1,8^3\n"), Error);
}

TEST(RunRecord, WritesTheCsvAndAnEventFile) {
  std::string const directory = std::string(VOXCYCLE_TEST_SCRATCH) + "/run";
  std::filesystem::remove_all(directory);
  write_file_atomically(directory + "/config.cfg", "[run]\nseed = 7\n");
  RunRecord record(directory, {}, "a summary", {{"run.seed", "7"}});
  for (auto const& row : two_rows()) record.add(row, row.step);
  record.add_waiting({0.25, 0.0}, 20);
  record.add_figures({.rate = 0.5, .gradient_norm = 2.0, .update_ratio = 0.1}, 20);
  record.add_picture("held_out/u/8", std::string(33, 'x'), 20);
  record.save();
  EXPECT_EQ(read_file(directory + "/metrics.csv"), metrics_to_csv(two_rows()));
  int events = 0;
  for (auto const& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().filename().string().rfind("events.out.tfevents", 0) == 0) {
      ++events;
      // A curve a grid: of the two errors of a step that ends a stage TensorBoard shows one.
      auto const content = read_file(entry.path().string());
      for (auto const* tag :
           {"train/loss", "held_out/rel_l2/16^3", "held_out/energy_gap/16^3",
            "held_out/energy_norm_error/16^3", "run/summary", "a summary", "waited/process_0",
            "waited/process_1", "train/rate", "train/update_ratio", "run/config", "    seed = 7",
            "hparams", "held_out/u/8"}) {
        EXPECT_NE(content.find(tag), std::string::npos) << tag;
      }
      EXPECT_EQ(content.find("train/memory_gib"), std::string::npos) << "not known";
      EXPECT_EQ(content.find("/8^3"), std::string::npos) << "that row holds no error";
    }
  }
  EXPECT_EQ(events, 1);
}

}  // namespace run_record_test
}  // namespace voxcycle
