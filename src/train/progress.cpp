// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/progress.hpp"

#include "voxcycle/core/text.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

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

std::string progress_text(ProgressState const& s) {
  std::string text = format("stage %d/%d  %s  step %ld", s.stage + 1, s.stages, s.grid.c_str(),
                            static_cast<long>(s.step));
  if (s.steps > 0) text += format("/%ld", static_cast<long>(s.steps));
  if (!std::isnan(s.energy_gap)) text += "  gap " + format_percent(s.energy_gap);
  text += format("  loss %.5f", s.loss);
  if (std::isnan(s.search.gradient_norm)) {
    text += format("  rate %.1e", s.rate);
  } else {
    text += format("  gradient %.1e  length %.2g  %.0f evaluations  %.0f pairs skipped",
                   s.search.gradient_norm, s.search.step_length, s.search.evaluations,
                   s.search.skipped);
  }
  if (s.step_seconds > 0) {
    text += "  " + format_seconds(s.step_seconds) + "/step";
    double const rate = static_cast<double>(s.samples) / s.step_seconds;
    text += "  " + (rate < 10.0 ? format("%.2g", rate) : format("%.0f", rate)) + " samples/s";
    if (s.progress > 0) {
      double const steps = static_cast<double>(s.step) * (1.0 - s.progress) / s.progress;
      text += "  left " + format_seconds(steps * s.step_seconds);
    }
  }
  return text;
}

ProgressLine::ProgressLine(Visible visible)
    : visible_(visible == Visible::yes), terminal_(on_terminal()) {}

void ProgressLine::show(ProgressState const& state) {
  double const pause = terminal_ ? kTerminalSeconds : kLineSeconds;
  if (!visible_ || (!first_ && since_last_.seconds() < pause)) return;
  first_ = false;
  since_last_.restart();
  // Erase the line, so that a shorter text leaves no tail.
  std::printf(terminal_ ? "\r\033[2K%s" : "%s\n", progress_text(state).c_str());
  std::fflush(stdout);
  open_ = terminal_;
}

void ProgressLine::finish() {
  if (open_) std::printf("\n");
  std::fflush(stdout);
  open_ = false;
}

}  // namespace voxcycle
