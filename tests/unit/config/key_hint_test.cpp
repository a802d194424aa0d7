// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/config/key_hint.hpp"

#include "voxcycle/config/config.hpp"

#include <gtest/gtest.h>

namespace voxcycle {
namespace key_hint_test {

std::string meant(std::string const& name) {
  Config const config;
  std::vector<std::string> keys;
  for (auto const& key : config.keys()) keys.push_back(key.name);
  return key_meant(name, keys);
}

TEST(KeyHint, NamesOfOtherPrograms) {
  for (auto const* name : {"lr", "learning_rate", "learning-rate", "train.learning_rate"}) {
    EXPECT_EQ(meant(name), "cycle.rate") << name;
  }
  EXPECT_EQ(meant("batch_size"), "cycle.batch");
}

TEST(KeyHint, KeysOfAnotherSection) {
  EXPECT_EQ(meant("epochs"), "cycle.epochs");
  EXPECT_EQ(meant("train.epochs"), "cycle.epochs");
  EXPECT_EQ(meant("device"), "run.device");
}

TEST(KeyHint, SeveralOrNone) {
  EXPECT_EQ(meant("directory"), "") << "of run, data and ablate";
  EXPECT_EQ(meant("nonsense"), "");
}

TEST(KeyHint, WhatIsMeantIsThere) {
  for (auto const* name :
       {"lr", "epoch", "iterations", "resolution", "early_stopping", "warmup", "scheduler", "dtype",
        "pretrained", "output_dir", "data_dir", "num_workers", "num_threads", "gpu",
        "boundary_conditions", "batch_size"}) {
    EXPECT_NO_THROW(Config().text(meant(name))) << name;
  }
}

}  // namespace key_hint_test
}  // namespace voxcycle
