// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/config/config.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"

#include <filesystem>

#include <gtest/gtest.h>

namespace voxcycle {
namespace config_test {

/// What an operation says when it throws; "" if it does not.
template <class Operation>
std::string error_of(Operation const& operation) {
  try {
    operation();
  } catch (Error const& error) {
    return error.what();
  }
  return "";
}

std::string config_file(std::string const& text) {
  std::string const path = std::string(VOXCYCLE_TEST_SCRATCH) + "/config.cfg";
  write_file_atomically(path, text);
  return path;
}

TEST(Config, FileAndCommandLineReplaceDefaults) {
  Config config;
  EXPECT_EQ(config.text("cycle.name"), "half_v");
  config.read_file(config_file("# comment\n[cycle]\nname = w\nsteps = 10, 20\n[run]\nseed = 7\n"));
  EXPECT_EQ(config.text("cycle.name"), "w");
  EXPECT_EQ(config.integer("run.seed"), 7);
  config.set("cycle.name", "f");
  EXPECT_EQ(config.text("cycle.name"), "f");
}

TEST(Config, TakesWhatEditorsLeaveInFiles) {
  Config config;
  config.read_file(config_file("[cycle]\rname = f\r"));  // of old Macs
  EXPECT_EQ(config.text("cycle.name"), "f");
  config.read_file(config_file("\xEF\xBB\xBF[cycle]\r\nname = w\r\n[case.plain]\r\n"));
  EXPECT_EQ(config.text("cycle.name"), "w");
  ASSERT_EQ(config.study().cases.size(), 1U);
  EXPECT_EQ(config.study().cases[0].name, "plain");
}

TEST(Config, TellsADefaultThatWasGiven) {
  Config config;
  EXPECT_FALSE(config.given("cycle.name"));
  config.set("cycle.name", Config().text("cycle.name"));
  EXPECT_TRUE(config.given("cycle.name"));
  EXPECT_TRUE(config.overridden("cycle.name"));
  config.read_file(config_file("[run]\nseed = 1\n"));
  EXPECT_TRUE(config.given("run.seed"));
  EXPECT_FALSE(config.overridden("run.seed"));
  EXPECT_FALSE(config.given("run.threads"));
}

TEST(Config, TakesTheDefaultsOfTheNetworkWhereNothingElseIsGiven) {
  Config config;
  config.read_file(
      config_file("[network]\ndepth = 3\nname = published\n[train]\nloss = residual\n"));
  EXPECT_EQ(config.text("network.depth"), "3");
  EXPECT_EQ(config.text("train.loss"), "residual");
  EXPECT_EQ(config.text("network.norm"), "instance");
  EXPECT_EQ(config.text("train.optimizer"), "adam");
  EXPECT_FALSE(config.given("train.optimizer"));
  config.set("network.norm", "group");
  EXPECT_EQ(config.text("network.norm"), "group");
  config.set("network.name", "unet");
  EXPECT_EQ(config.text("network.norm"), "group");
  EXPECT_EQ(config.text("train.optimizer"), Config().text("train.optimizer"));
}

TEST(Config, UnknownKeysNameTheNearestValidOnes) {
  Config config;
  auto const text = error_of([&] { config.set("cycle.step", "3"); });
  EXPECT_NE(text.find("'cycle.step'"), std::string::npos) << text;
  EXPECT_NE(text.find("cycle.steps"), std::string::npos) << text;
  auto const in_file = error_of([&] { config.read_file(config_file("[trian]\nloss = energy\n")); });
  EXPECT_NE(in_file.find("train.loss"), std::string::npos) << in_file;
  EXPECT_NE(in_file.find("config.cfg"), std::string::npos) << in_file;
}

TEST(Config, ValuesOutOfRangeNameTheKeyAndTheRange) {
  Config config;
  for (auto const* value : {"-1", "abc", "1e99999", "", "3x", "nan"}) {
    config.set("run.seed", value);
    auto const text = error_of([&] { config.integer("run.seed"); });
    EXPECT_NE(text.find("run.seed"), std::string::npos) << value;
  }
  config.set("network.correction_scale", "nan");
  EXPECT_NE(error_of([&] { config.real("network.correction_scale", 0, 1); }), "");
  config.set("data.modes", "9");
  EXPECT_NE(error_of([&] { config.integer("data.modes", 1, 6); }).find("<= 6"), std::string::npos);
}

TEST(Config, ListsHoldOneEntryOrOneALevel) {
  Config config;
  config.set("cycle.steps", "5");
  EXPECT_EQ(config.integers_a_level("cycle.steps", 3, 1), (std::vector<std::int64_t>{5, 5, 5}));
  config.set("cycle.steps", "5, 6,7");
  EXPECT_EQ(config.integers_a_level("cycle.steps", 3, 1), (std::vector<std::int64_t>{5, 6, 7}));
  EXPECT_NE(error_of([&] { config.integers_a_level("cycle.steps", 2, 1); }), "");
  config.set("network.channels", "4:8, 8:16");
  EXPECT_EQ(config.integer_map("network.channels"),
            (std::map<std::int64_t, std::int64_t>{{4, 8}, {8, 16}}));
  config.set("network.channels", "4=8");
  EXPECT_NE(error_of([&] { config.integer_map("network.channels"); }), "");
}

TEST(Config, DumpReadsBackAsItself) {
  Config config;
  config.set("cycle.steps", "11, 12, 13");
  Config again;
  again.read_file(config_file(config.dump()));
  EXPECT_EQ(again.dump(), config.dump());
}

TEST(Config, ReadsOldNamesOfKeys) {
  Config config;
  config.read_file(config_file("[train]\nunit_size = 4\nbeta2 = 0.999\n[run]\nspace = 2\n"));
  EXPECT_EQ(config.integer("train.micro_batch_size"), 4);
  EXPECT_EQ(config.integer("run.spatial_processes"), 2);
  config.set("run.space_above", "16");
  EXPECT_TRUE(config.overridden("run.spatial_above"));
  config.set("vary.network.directions", "0 | 8");
  EXPECT_EQ(config.study().vary.at(0).key, "network.subspace");
  config.set("case.one.train.unit_size", "1");
  EXPECT_EQ(config.study().cases.at(0).settings.at(0).first, "train.micro_batch_size");
  auto const both = "[train]\nunit_size = 4\nmicro_batch_size = 4\n";
  EXPECT_NE(error_of([&] { config.read_file(config_file(both)); }).find("twice"),
            std::string::npos);
}

TEST(Config, SaysWhatReplacesKeysThatAreGone) {
  Config config;
  EXPECT_NO_THROW(config.set("train.keep_best", "yes"));
  EXPECT_NO_THROW(config.set("vary.train.adam_ratio", "0.080"));
  EXPECT_TRUE(config.study().vary.empty());
  auto const text = error_of([&] { config.set("train.muon_momentum", "0.9"); });
  EXPECT_NE(text.find("its value is 0.95 always"), std::string::npos) << text;
}

TEST(Config, FingerprintLeavesOutPlaces) {
  Config config;
  auto const before = config.fingerprint().text();
  config.set("run.directory", "elsewhere");
  config.set("log.mode", "collect");
  config.set("log.file", "elsewhere.txt");
  EXPECT_EQ(config.fingerprint().text(), before);
  config.set("cycle.rate", "1e-2");
  EXPECT_NE(config.fingerprint().text(), before);
}

TEST(Config, RefusesMissingAndMalformedFiles) {
  Config config;
  EXPECT_NE(error_of([&] { config.read_file("no/such/file.cfg"); }), "");
  EXPECT_NE(error_of([&] { config.read_file(config_file("[cycle\nsteps\n")); }), "");
}

}  // namespace config_test
}  // namespace voxcycle
