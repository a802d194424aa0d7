// SPDX-License-Identifier: BSD-3-Clause
// Who keeps the others waiting, from what processes say of themselves; without MPI and clocks.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace voxcycle {

/// What a process says of itself every few seconds.
struct Beat {
  std::int32_t rank = 0;
  bool waits = false;   ///< in a call that waits for others
  bool leaves = false;  ///< it will say no more
  bool on_gpu = false;  ///< a busy CPU is no sign of life then: it may wait for the GPU
  std::int64_t step = 0;
  double unchanged = 0.0;               ///< seconds since its Whereabouts changed
  double idle = 0.0;                    ///< seconds since it used its CPU
  std::array<char, 48> part{}, call{};  ///< of Whereabouts
};

class BeatTable {
 public:
  /// @param interval  seconds between beats
  BeatTable(int processes, double interval);

  /// @param now  of a steady clock, in seconds
  void hear(Beat const& beat, double now);
  /// To be called at each interval: if this process stood still itself (the job was suspended), the
  /// others could not be heard.
  void tick(double now);

  /// A process that others wait for.
  struct Absence {
    int rank;
    double seconds;
    bool is_silent;  ///< it says nothing: it, or its machine, stands still
    Beat last;
  };
  /// Those that are silent; else those that neither work nor wait; else all, if each waits for
  /// others. A process whose CPU works is none. @param patience  seconds
  std::vector<Absence> absences(double now, double patience) const;

 private:
  struct Row {
    Beat last;
    double heard = 0.0;
  };
  double interval_;
  double ticked_ = -1.0;
  std::vector<Row> rows_;
};

/// A line for each, for people. @param hosts  by rank
std::string absence_text(std::vector<BeatTable::Absence> const& absences,
                         std::vector<std::string> const& hosts);

}  // namespace voxcycle
