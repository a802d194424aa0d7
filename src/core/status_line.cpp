// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/status_line.hpp"

#include "voxcycle/core/printable.hpp"
#include "voxcycle/core/text.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace voxcycle {
namespace {

constexpr double kTerminalSeconds = 0.1;
constexpr double kLineSeconds = 10.0;

/// The terminal that standard output ends on; empty for none. Open MPI gives its ranks a pseudo
/// terminal whatever becomes of their output, so there the launcher's own output counts.
std::string terminal_of_output() {
  if (::isatty(STDOUT_FILENO) == 0) return "";
  if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr) return "/proc/self/fd/1";
  std::error_code code;
  auto const target =
      std::filesystem::read_symlink("/proc/" + std::to_string(::getppid()) + "/fd/1", code)
          .string();
  bool const is_terminal = target.starts_with("/dev/pts/") || target.starts_with("/dev/tty");
  return !code && is_terminal ? target : "";
}

/// As many as terminals have where it does not tell.
std::size_t columns_of(std::string const& terminal) {
  winsize size{};
  int const file = ::open(terminal.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  bool const known = file >= 0 && ::ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  if (file >= 0) ::close(file);
  return known ? size.ws_col : 80;
}

}  // namespace

StatusLine::StatusLine(Visible visible, First first)
    : visible_(visible == Visible::yes),
      terminal_(terminal_of_output()),
      first_(first == First::at_once) {}

void StatusLine::show(std::function<std::string()> const& text) {
  double const pause = terminal_.empty() ? kLineSeconds : kTerminalSeconds;
  if (!visible_ || (!first_ && since_last_.seconds() < pause)) return;
  first_ = false;
  since_last_.restart();
  open_ = !terminal_.empty();
  if (open_) {
    // Erase the line, so that a shorter text leaves no tail; of one that wrapped a row would stay.
    std::printf("\r\033[2K%s", printable(text()).substr(0, columns_of(terminal_) - 1).c_str());
  } else {
    print("%s\n", text().c_str());
  }
  std::fflush(stdout);
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
  if (share == 0.0) return work;
  return format("%s  %.0f %%  left %s", work.c_str(), 100.0 * share,
                format_seconds(seconds * (1.0 - share) / share).c_str());
}

}  // namespace voxcycle
