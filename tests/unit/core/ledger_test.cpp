// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/ledger.hpp"

#include "voxcycle/core/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

using testing::Pair;
using testing::UnorderedElementsAre;

TEST(Ledger, BytesCountWhileAnyCopyLives) {
  Ledger ledger;
  Ledger::Held second;
  {
    auto const first = ledger.hold("field", 100);
    second = first;
  }
  EXPECT_EQ(ledger.held(), 100);
  second.reset();
  EXPECT_EQ(ledger.held(), 0);
  EXPECT_EQ(ledger.peak(), 100);
}

TEST(Ledger, PeakIsTheMostHeldAtOnceAndItsParts) {
  Ledger ledger;
  auto a = ledger.hold("a", 10);
  {
    auto const more = ledger.hold("a", 5);
    auto const b = ledger.hold("b", 20);  // 35: the peak
  }
  auto const c = ledger.hold("c", 24);  // 34
  a.reset();
  auto const d = ledger.hold("b", 10);  // 34
  EXPECT_EQ(ledger.held(), 34);
  EXPECT_EQ(ledger.peak(), 35);
  EXPECT_THAT(ledger.at_peak(), UnorderedElementsAre(Pair("a", 15), Pair("b", 20)));
}

TEST(Ledger, HeldMemoryMayOutliveItsLedger) {
  Ledger::Held held;
  {
    Ledger ledger;
    held = ledger.hold("field", 1);
  }
  held.reset();
}

TEST(Ledger, NegativeBytesAreRefused) {
  Ledger ledger;
  EXPECT_THROW(ledger.hold("field", -1), Error);
}

}  // namespace
}  // namespace voxcycle
