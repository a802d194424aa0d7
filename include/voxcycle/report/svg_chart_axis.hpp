// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace voxcycle::svg {

/// A labelled value on an axis. All of an axis have one format: with exponents, or none.
struct Tick {
  double value = 0.0;
  std::string label;
};

/// The range of an axis and its ticks.
struct Axis {
  double low = 0.0;
  double high = 1.0;
  bool logarithmic = false;
  std::vector<Tick> ticks;

  /// @return where `value` lies, 0 at low and 1 at high.
  double position(double value) const;
};

/// An axis over [low, high] with at most about `most` ticks at multiples of 1, 2 or 5 times a power
/// of ten. An empty range is widened.
Axis linear_axis(double low, double high, int maximum = 6);

/// The same with a logarithmic scale, for 0 < low <= high: ticks at powers of ten, at 1-3 or 1-2-5,
/// or, over less than that, at multiples as on a linear axis; the range is widened by a margin.
Axis log_axis(double low, double high);

/// A unit that times up to `seconds` read well in.
struct TimeUnit {
  char const* name;
  double seconds;  ///< that one is
};
TimeUnit time_unit(double seconds);

}  // namespace voxcycle::svg
