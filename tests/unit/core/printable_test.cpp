// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/printable.hpp"

#include "voxcycle/core/log.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace printable_test {

using namespace std::string_literals;

TEST(Printable, TextStaysAsItIs) {
  for (auto const& text : {""s, "a line\n\tand another"s, "-div(ν ∇u) = f, 32³"s,
                           "\U0001F600 \ud7ff \ue000"s, "\U0010ffff\u00a0\u0800\U00010000"s}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, ControlCharactersAreTold) {
  EXPECT_EQ(printable("a\x1b[2Jb\x07\r\x7f"), "a\\x1b[2Jb\\x07\\x0d\\x7f");
  EXPECT_EQ(printable("\0x"s), "\\x00x");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");  // U+009B begins a sequence as ESC [ does
}

TEST(Printable, WhatIsNoUtf8IsTold) {
  EXPECT_EQ(printable("\x80"), "\\x80");
  EXPECT_EQ(printable("caf\xe9!"), "caf\\xe9!");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");  // longer than need be
  EXPECT_EQ(printable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // half of a pair
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond Unicode
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");                    // cut off
  EXPECT_EQ(printable("\xe2(\xa1"), "\\xe2(\\xa1");
}

TEST(Printable, LinesOfTheLogAndOfTheOutputAre) {
  testing::internal::CaptureStderr();
  log_warning("file \x1b]0;title\x07.npy");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              ::testing::HasSubstr("file \\x1b]0;title\\x07.npy"));
  testing::internal::CaptureStdout();
  print("%s: %d\n", "\xff", 3);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "\\xff: 3\n");
}

}  // namespace printable_test
}  // namespace voxcycle
