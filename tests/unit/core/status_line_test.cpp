// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/status_line.hpp"

#include <string>

#include <gtest/gtest.h>

namespace voxcycle {
namespace {

TEST(StatusLine, ElsewhereThanOnATerminalLinesAreFewAndPlain) {
  int texts = 0;
  auto const text = [&] { return "line " + std::to_string(++texts); };
  testing::internal::CaptureStdout();
  {
    StatusLine line(StatusLine::Visible::yes);
    for (int k = 0; k < 3; ++k) line.show(text);  // within ten seconds
    line.finish();
    line.erase();
    StatusLine later(StatusLine::Visible::yes, StatusLine::First::after_a_pause);
    later.show(text);
    StatusLine hidden(StatusLine::Visible::no);
    hidden.show(text);
    ShareLine share(StatusLine::Visible::yes, "comparing");
    share.show(0.5);
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "line 1\n");
  EXPECT_EQ(texts, 1);
}

TEST(StatusLine, ShareOfAWork) {
  EXPECT_EQ(share_text("comparing", 0.25, 4.0), "comparing  25 %  left 12.0 s");
  EXPECT_EQ(share_text("comparing", 1.0, 4.0), "comparing  100 %  left 0 ms");
}

}  // namespace
}  // namespace voxcycle
