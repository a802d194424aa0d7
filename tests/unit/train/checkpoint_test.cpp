// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/checkpoint.hpp"

#include "voxcycle/core/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoints.hpp"
#include <gtest/gtest.h>

namespace voxcycle {
namespace checkpoint_test {

/// The header that a checkpoint with these numbers is read as.
CheckpointHeader header_of(std::vector<std::int64_t> const& position) {
  std::filesystem::create_directories(VOXCYCLE_TEST_SCRATCH);
  std::string const path = std::string(VOXCYCLE_TEST_SCRATCH) + "/checkpoint.h5";
  write_position(path, position);
  return CheckpointReader(path).header();
}

TEST(Checkpoint, KnowsWhetherAnEvaluationIsDue) {
  auto const due = header_of({2, 7, 30, 7, 99, 0, 1});
  EXPECT_EQ(due.stage, 2);
  EXPECT_EQ(due.step, 7);
  EXPECT_FALSE(due.finished);
  EXPECT_TRUE(due.evaluation_due);
  EXPECT_FALSE(header_of({2, 7, 30, 7, 99, 0, 0}).evaluation_due);
}

TEST(Checkpoint, OlderOnesHaveFingerprintsWithoutAVersion) {
  EXPECT_EQ(header_of({2, 7, 30, 7, 99, 0, 1}).fingerprint.value("test"), "1");
}

TEST(Checkpoint, OlderOnesAreBetweenEvaluations) {
  EXPECT_FALSE(header_of({2, 7, 30, 7, 99, 0}).evaluation_due);
  EXPECT_TRUE(header_of({2, 0, 30, 0, 99, 0}).evaluation_due) << "on entry";
  EXPECT_TRUE(header_of({3, 0, 30, 0, 99, 1}).finished);
}

TEST(Checkpoint, OfAnotherVersionIsRefused) {
  EXPECT_THROW(header_of({2, 7, 30, 7, 99}), Error);
  EXPECT_THROW(header_of({2, 7, 30, 7, 99, 0, 1, 1}), Error);
}

TEST(Checkpoint, PositionsOutOfRangeAreDamage) {
  EXPECT_THROW(header_of({-1, 7, 30, 7, 99, 0, 0}), Error);
  EXPECT_THROW(header_of({std::int64_t{1} << 40, 7, 30, 7, 99, 0, 0}), Error);
  EXPECT_THROW(header_of({2, -7, 30, 7, 99, 0, 0}), Error);
}

}  // namespace checkpoint_test
}  // namespace voxcycle
