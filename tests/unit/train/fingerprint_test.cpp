// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/fingerprint.hpp"

#include "voxcycle/core/error.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace voxcycle {
namespace fingerprint_test {

std::string difference(std::string const& there, std::string const& now) {
  auto const found = first_difference(Fingerprint::read(there), Fingerprint::read(now));
  return found ? found->text() : "";
}

TEST(Fingerprint, AreComparedByTheirKeys) {
  EXPECT_EQ(difference("a.b = 1, 2\nc.d = 3\n", "c.d = 3\na.b = 1,2\n"), "");
  EXPECT_EQ(difference("a.b = 1e3, x\n", "a.b = 1000,x\n"), "");
  EXPECT_NE(difference("a.b = 1e3, x\n", "a.b = 1000\n"), "");
  EXPECT_EQ(difference("a.b = 1\nc.d = 3\n", "a.b = 1\nc.d = 4\n"),
            "'c.d = 3' there, 'c.d = 4' now");
  // Keys of other versions, before keys that both have.
  EXPECT_EQ(difference("c.d = 3\n", "a.b = 1\nc.d = 3\n"), "nothing of it there, 'a.b = 1' now");
  EXPECT_EQ(difference("a.b = 1\nc.d = 3\n", "c.d = 3\n"), "'a.b = 1' there, nothing of it now");
}

TEST(Fingerprint, AllDifferencesAreToldOnce) {
  std::vector<std::string> texts;
  for (auto const& one : differences(Fingerprint::read("a.b = 1\nc.d = 3\ne.f = 4\n"),
                                     Fingerprint::read("g.h = 5\nc.d = 3\na.b = 2\n"))) {
    texts.push_back(one.text());
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"nothing of it there, 'g.h = 5' now",
                                             "'a.b = 1' there, 'a.b = 2' now",
                                             "'e.f = 4' there, nothing of it now"}));
}

TEST(Fingerprint, IsReadAsItWasWritten) {
  Fingerprint written;
  written.set("a.b", "1");
  written.set("c.d", "");
  written.set("a.b", "2, x = 3");
  EXPECT_EQ(written.text(), "fingerprint = 2\na.b = 2, x = 3\nc.d = \n");
  auto const read = Fingerprint::read(written.text());
  EXPECT_EQ(read.entries(), written.entries());
  EXPECT_EQ(read.value("a.b"), "2, x = 3");
  EXPECT_EQ(read.value("c.d"), "");
  EXPECT_FALSE(read.value("b"));
}

TEST(Fingerprint, OfTheFirstVersionHasOldNames) {
  EXPECT_EQ(difference("train.unit_size = 1\nthreads a process = 2\n",
                       "fingerprint = 2\ntrain.micro_batch_size = 1\nthreads per process = 2\n"),
            "");
}

TEST(Fingerprint, MayHoldKeysThatAreGoneWithTheValueOfNow) {
  EXPECT_EQ(difference("a.b = 1\ntrain.beta2 = 0.999\ncycle.improvement = 0.01, 1e-2\n",
                       "fingerprint = 2\na.b = 1\n"),
            "");
  EXPECT_THROW(Fingerprint::read("train.beta2 = 0.99\n"), Error);
  EXPECT_THROW(Fingerprint::read("cycle.improvement = 0.01, 0.1\n"), Error);
  EXPECT_THROW(Fingerprint::read("cycle.improvement = \n"), Error);
}

TEST(Fingerprint, ArraysAreToldApartByWhatTheyHoldWhereBothKnowIt) {
  std::string const here = "data.file = a.npy\n", moved = "data.file = b.npy\n";
  std::string const holds = "contents of the shards = 12ab\n";
  EXPECT_EQ(difference(here + holds, moved + holds), "");
  EXPECT_EQ(difference(here, here + holds), "");
  EXPECT_EQ(difference(here, moved + holds), "'data.file = a.npy' there, 'data.file = b.npy' now");
  EXPECT_EQ(difference(here + holds, here + "contents of the shards = 12ac\n"),
            "'contents of the shards = 12ab' there, 'contents of the shards = 12ac' now");
}

TEST(Fingerprint, OfANewerVersionOrNoneIsRefused) {
  EXPECT_THROW(Fingerprint::read("fingerprint = 3\n"), Error);
  EXPECT_THROW(Fingerprint::read("fingerprint = x\n"), Error);
  EXPECT_THROW(Fingerprint::read("a.b\n"), Error);
}

}  // namespace fingerprint_test
}  // namespace voxcycle
