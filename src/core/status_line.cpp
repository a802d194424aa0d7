// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/status_line.hpp"

#include "voxcycle/core/text.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace voxcycle {
namespace {

constexpr double kTerminalSeconds = 0.1;
constexpr double kLineSeconds = 10.0;

/// Whether standard output ends on a terminal. Open MPI gives its ranks a pseudo terminal whatever
/// becomes of their output, so there the launcher's own output counts.
bool on_terminal() {
  if (::isatty(STDOUT_FILENO) == 0) return false;
  if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr) return true;
  std::error_code code;
  auto const target =
      std::filesystem::read_symlink("/proc/" + std::to_string(::getppid()) + "/fd/1", code);
  return !code &&
         (target.string().rfind("/dev/pts/", 0) == 0 || target.string().rfind("/dev/tty", 0) == 0);
}

}  // namespace

StatusLine::StatusLine(Visible visible, First first)
    : visible_(visible == Visible::yes),
      terminal_(on_terminal()),
      first_(first == First::at_once) {}

void StatusLine::show(std::function<std::string()> const& text) {
  double const pause = terminal_ ? kTerminalSeconds : kLineSeconds;
  if (!visible_ || (!first_ && since_last_.seconds() < pause)) return;
  first_ = false;
  since_last_.restart();
  // Erase the line, so that a shorter text leaves no tail.
  std::printf(terminal_ ? "\r\033[2K%s" : "%s\n", text().c_str());
  std::fflush(stdout);
  open_ = terminal_;
}

void StatusLine::finish() {
  if (open_) std::printf("\n");
  std::fflush(stdout);
  open_ = false;
}

void StatusLine::erase() {
  if (open_) std::printf("\r\033[2K");
  std::fflush(stdout);
  open_ = false;
}

ShareLine::ShareLine(StatusLine::Visible visible, std::string work)
    : work_(std::move(work)), line_(visible, StatusLine::First::after_a_pause) {}

void ShareLine::show(double share) {
  line_.show([&] { return share_text(work_, share, timer_.seconds()); });
}

std::string share_text(std::string const& work, double share, double seconds) {
  return format("%s  %.0f %%  left %s", work.c_str(), 100.0 * share,
                format_seconds(seconds * (1.0 - share) / share).c_str());
}

}  // namespace voxcycle
