// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/status_line.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace voxcycle {
namespace status_line_test {

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

/// Standard output on a terminal of so many columns, while it lives.
class Terminal {
 public:
  explicit Terminal(unsigned short columns) : master_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    EXPECT_EQ(::grantpt(master_), 0);
    EXPECT_EQ(::unlockpt(master_), 0);
    slave_ = ::open(::ptsname(master_), O_RDWR | O_NOCTTY);
    winsize const size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(::ioctl(slave_, TIOCSWINSZ, &size), 0);
    std::fflush(stdout);
    ::dup2(slave_, STDOUT_FILENO);
  }
  ~Terminal() {
    std::fflush(stdout);
    ::dup2(before_, STDOUT_FILENO);
    for (int const file : {before_, slave_, master_}) ::close(file);
  }
  Terminal(Terminal const&) = delete;
  Terminal& operator=(Terminal const&) = delete;

  /// What has been written since.
  std::string shown() const {
    char text[4096];
    auto const size = ::read(master_, text, sizeof(text));
    return {text, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }

 private:
  int before_ = ::dup(STDOUT_FILENO);
  int master_;
  int slave_ = -1;
};

TEST(StatusLine, IsCutToTheWidthOfATerminal) {
  ::unsetenv("OMPI_COMM_WORLD_SIZE");
  std::string const erased = "\r\033[2K", text(100, 'x');
  for (unsigned short const columns : {20, 200, 0}) {  // 0: the terminal does not tell
    Terminal const terminal(columns);
    StatusLine line(StatusLine::Visible::yes);
    line.show([&] { return text; });
    auto const seen = columns == 0 ? 79 : std::min<int>(columns - 1, 100);
    EXPECT_EQ(terminal.shown(), erased + text.substr(0, seen));
    line.erase();
    EXPECT_EQ(terminal.shown(), erased);
  }
}

TEST(StatusLine, ShareOfAWork) {
  EXPECT_EQ(share_text("comparing", 0.25, 4.0), "comparing  25 %  left 12.0 s");
  EXPECT_EQ(share_text("comparing", 1.0, 4.0), "comparing  100 %  left 0 ms");
  EXPECT_EQ(share_text("comparing", 0.0, 4.0), "comparing");
}

}  // namespace status_line_test
}  // namespace voxcycle
