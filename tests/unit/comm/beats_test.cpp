// SPDX-License-Identifier: BSD-3-Clause
#include "comm/beats.hpp"

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace beats_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kPatience = 10.0;

Beat beat(int rank, bool waits = false, double unchanged = 0.0, double idle = 0.0) {
  Beat all{.rank = rank, .waits = waits, .step = 7, .unchanged = unchanged, .idle = idle};
  std::strcpy(all.part.data(), "forward");
  std::strcpy(all.call.data(), "MPI_Allreduce");
  return all;
}

std::vector<int> ranks_of(std::vector<BeatTable::Absence> const& absences) {
  std::vector<int> ranks;
  for (auto const& one : absences) ranks.push_back(one.rank);
  return ranks;
}

/// Of three processes which say this after `seconds`, heard from the first on each second.
std::vector<int> absent(std::vector<Beat> const& beats, double seconds = 20.0) {
  BeatTable table(3, 1.0);
  for (double now = 0.0; now <= seconds; now += 1.0) {
    table.tick(now);
    for (auto const& one : beats) table.hear(one, now);
  }
  return ranks_of(table.absences(seconds, kPatience));
}

TEST(BeatTable, SilenceForLongerThanThePatienceIsAbsence) {
  EXPECT_THAT(absent({beat(0), beat(2)}, 10.0), IsEmpty());
  EXPECT_THAT(absent({beat(0), beat(2)}, 11.0), ElementsAre(1));
  // Those that wait for it are not to blame.
  EXPECT_THAT(absent({beat(0, true, 15.0, 15.0), beat(2, true, 15.0)}), ElementsAre(1));
}

TEST(BeatTable, WhoLeftIsNotMissed) {
  BeatTable table(2, 1.0);
  Beat last = beat(1);
  last.leaves = true;
  table.hear(last, 0.0);
  for (double now = 0.0; now <= 30.0; now += 1.0) {
    table.tick(now);
    table.hear(beat(0), now);
  }
  EXPECT_THAT(table.absences(30.0, kPatience), IsEmpty());
}

TEST(BeatTable, WhoNeitherWorksNorWaitsIsAbsent) {
  auto const waiting = [](int rank) { return beat(rank, true, 15.0); };
  EXPECT_THAT(absent({waiting(0), beat(1, false, 15.0, 15.0), waiting(2)}), ElementsAre(1));
  // A step may take longer than the patience.
  EXPECT_THAT(absent({waiting(0), beat(1, false, 15.0, 0.0), waiting(2)}), IsEmpty());
  // Many small waits.
  EXPECT_THAT(absent({waiting(0), beat(1, false, 0.0, 15.0), waiting(2)}), IsEmpty());
}

TEST(BeatTable, AllThatWaitForEachOtherAreAbsent) {
  auto const waiting = [](int rank, double seconds) { return beat(rank, true, seconds); };
  EXPECT_THAT(absent({waiting(0, 15.0), waiting(1, 12.0), waiting(2, 15.0)}), ElementsAre(0, 1, 2));
  EXPECT_THAT(absent({waiting(0, 15.0), waiting(1, 9.0), waiting(2, 15.0)}), IsEmpty());
}

TEST(BeatTable, ProcessesThatWaitForGpusMayBeBusy) {
  std::vector<Beat> all{beat(0, false, 15.0), beat(1, false, 15.0), beat(2, false, 15.0)};
  EXPECT_THAT(absent(all), IsEmpty());
  for (auto& one : all) one.on_gpu = true;
  EXPECT_THAT(absent(all), ElementsAre(0, 1, 2));
  all[1].unchanged = 3.0;
  EXPECT_THAT(absent(all), IsEmpty());
  all[1].unchanged = 15.0;
  for (auto& one : all) one.step = 0;  // data may be generated, where nothing is noted
  EXPECT_THAT(absent(all), IsEmpty());
}

TEST(BeatTable, ASuspendedJobGoesOn) {
  BeatTable table(2, 1.0);
  table.tick(0.0);
  for (int rank : {0, 1}) table.hear(beat(rank), 0.0);
  table.tick(100.0);
  table.hear(beat(0), 100.0);
  EXPECT_THAT(table.absences(100.0, kPatience), IsEmpty());
  for (double now = 101.0; now <= 111.0; now += 1.0) {
    table.tick(now);
    table.hear(beat(0), now);
  }
  EXPECT_THAT(ranks_of(table.absences(111.0, kPatience)), ElementsAre(1));
}

TEST(BeatTable, AbsencesAreToldWithMachineStepAndPart) {
  std::vector<BeatTable::Absence> const all{
      {0, 600.0, true, beat(0)}, {2, 601.0, false, beat(2)}, {3, 5.0, false, beat(3, true)}};
  EXPECT_EQ(absence_text(all, {"a", "b", "c", "d"}),
            "process 0 on a has not answered for 10 min 00 s (in step 7, forward); "
            "process 2 on c stands still for 10 min 01 s (in step 7, forward); "
            "process 3 on d waits for others for 5.0 s (in step 7, forward, MPI_Allreduce)");
  Beat const early{.rank = 1};
  EXPECT_EQ(absence_text({{1, 5.0, true, early}}, {"a", "b"}),
            "process 1 on b has not answered for 5.0 s (before the first step)");
  std::vector<BeatTable::Absence> const many(20, {0, 5.0, true, early});
  EXPECT_TRUE(absence_text(many, {"a"}).ends_with("; and 4 more"));
}

}  // namespace beats_test
}  // namespace voxcycle
