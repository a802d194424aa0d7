// SPDX-License-Identifier: BSD-3-Clause
#include "comm/beats.hpp"

#include "voxcycle/core/text.hpp"

#include <algorithm>

namespace voxcycle {
namespace {

/// Intervals after which a process missed its own beat.
constexpr double kGap = 3.0;
/// Processes that are told of; there may be thousands.
constexpr std::size_t kMaxLines = 16;

std::string place(Beat const& beat) {
  std::string text;
  if (beat.step > 0) text += format("step %ld", static_cast<long>(beat.step));
  if (beat.part[0] != 0) text += (text.empty() ? "" : ", ") + std::string(beat.part.data());
  if (beat.waits) text += (text.empty() ? "" : ", ") + std::string(beat.call.data());
  return text.empty() ? "before the first step" : "in " + text;
}

}  // namespace

BeatTable::BeatTable(int processes, double interval)
    : interval_(interval), rows_(static_cast<std::size_t>(processes)) {}

void BeatTable::hear(Beat const& beat, double now) {
  if (beat.rank < 0 || beat.rank >= std::ssize(rows_)) return;
  rows_[static_cast<std::size_t>(beat.rank)] = {beat, now};
}

void BeatTable::tick(double now) {
  double const passed = ticked_ < 0 ? now : now - ticked_;  // first: since processes were started
  if (passed > kGap * interval_) {
    for (auto& row : rows_) row.heard += passed;
  }
  ticked_ = now;
}

std::vector<BeatTable::Absence> BeatTable::absences(double now, double patience) const {
  std::vector<Absence> silent, still, waiting;
  bool all_wait = true;
  for (std::size_t rank = 0; rank < rows_.size(); ++rank) {
    Beat const& last = rows_[rank].last;
    if (last.leaves) continue;
    auto const absence = [&](double seconds, bool is_silent) {
      return Absence{static_cast<int>(rank), seconds, is_silent, last};
    };
    double const since = now - rows_[rank].heard;
    if (since > patience) silent.push_back(absence(since, true));
    bool const unchanged = last.unchanged > patience;
    if (unchanged && !last.waits && last.idle > patience) {
      still.push_back(absence(std::min(last.unchanged, last.idle), false));
    }
    if (unchanged) waiting.push_back(absence(last.unchanged, false));
    all_wait = all_wait && unchanged && (last.waits || (last.on_gpu && last.step > 0));
  }
  if (!silent.empty()) return silent;
  if (!still.empty()) return still;
  return all_wait ? waiting : std::vector<Absence>{};
}

std::string absence_text(std::vector<BeatTable::Absence> const& absences,
                         std::vector<std::string> const& hosts) {
  std::string text;
  for (std::size_t k = 0; k < std::min(absences.size(), kMaxLines); ++k) {
    auto const& one = absences[k];
    char const* const state = one.is_silent    ? "has not answered"
                              : one.last.waits ? "waits for others"
                                               : "stands still";
    text += format("process %d on %s %s for %s (%s); ", one.rank,
                   hosts.at(static_cast<std::size_t>(one.rank)).c_str(), state,
                   format_seconds(one.seconds).c_str(), place(one.last).c_str());
  }
  if (absences.size() > kMaxLines) text += format("and %zu more; ", absences.size() - kMaxLines);
  if (!text.empty()) text.resize(text.size() - 2);
  return text;
}

}  // namespace voxcycle
