// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/report/svg_chart_axis.hpp"

#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace voxcycle::svg {
namespace {

int exponent_of(double value) {
  return static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9));
}

/// @param digits  after the point
std::string with_exponent(double value, int exponent, int digits) {
  return value == 0 ? "0" : format("%.*fe%d", digits, value / std::pow(10.0, exponent), exponent);
}

/// Whether numbers from `low` to `high` in size need an exponent.
bool need_exponent(double low, double high) {
  return low < 1e-3 * (1 - 1e-9) || high >= 1e6;
}

/// Multiples of a nice step within [low, high].
std::vector<Tick> linear_ticks(double low, double high, int maximum) {
  double const raw = (high - low) / std::max(maximum, 1);
  double const power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (double const nice : {5.0, 2.0, 1.0}) {
    if (nice * power >= raw * (1 - 1e-9)) step = nice * power;
  }
  double const largest = std::max(std::abs(low), std::abs(high));
  bool const scientific = need_exponent(largest, largest);
  int const exponent = scientific ? exponent_of(largest) : 0;
  int const decimals = std::max(0, exponent - exponent_of(step));
  std::vector<Tick> ticks;
  double const first = std::ceil(low / step - 1e-9);
  double const last = std::floor(high / step + 1e-9);
  for (double i = first; i <= last && ticks.size() < 50; ++i) {
    double const value = i * step + 0.0;  // -0 becomes 0
    ticks.push_back({value, scientific ? with_exponent(value, exponent, decimals)
                                       : format("%.*f", decimals, value)});
  }
  return ticks;
}

/// Each of `factors` times each power of ten within [low, high], every `stride`-th power.
std::vector<Tick> log_ticks(double low, double high, std::initializer_list<double> factors,
                            int stride = 1) {
  std::vector<Tick> ticks;
  int const first = static_cast<int>(std::floor(std::log10(low)));
  int const last = static_cast<int>(std::ceil(std::log10(high)));
  for (int exponent = first; exponent <= last; ++exponent) {
    if (exponent % stride != 0) continue;
    for (double const factor : factors) {
      double const value = factor * std::pow(10.0, exponent);
      if (value >= low && value <= high)
        ticks.push_back({value, with_exponent(value, exponent, 0)});
    }
  }
  if (ticks.empty() || need_exponent(ticks.front().value, ticks.back().value)) return ticks;
  for (Tick& tick : ticks) tick.label = format("%.7g", tick.value);
  return ticks;
}

}  // namespace

double Axis::position(double value) const {
  if (logarithmic) return std::log(value / low) / std::log(high / low);
  return (value - low) / (high - low);
}

Axis linear_axis(double low, double high, int maximum) {
  // Below this the tick values could not be told apart.
  double const minimum = std::max(1e-9 * std::max(std::abs(low), std::abs(high)), 1e-300);
  if (high - low < minimum) {
    double const margin = low == 0 ? 1.0 : 0.1 * std::abs(low);
    low -= margin;
    high += margin;
  }
  return {low, high, false, linear_ticks(low, high, maximum)};
}

Axis log_axis(double low, double high) {
  if (std::log(high / low) < 1e-6) {
    low /= 1.1;
    high *= 1.1;
  }
  double const margin = std::pow(high / low, 0.06);
  Axis axis{low / margin, high * margin, true, {}};
  int const decades = static_cast<int>(std::log10(axis.high / axis.low));
  std::vector<Tick> const candidates[] = {
      log_ticks(axis.low, axis.high, {1}, 1 + decades / 7),
      log_ticks(axis.low, axis.high, {1, 3}),
      log_ticks(axis.low, axis.high, {1, 2, 5}),
  };
  for (auto const& ticks : candidates) {
    if (ticks.size() >= 4 && ticks.size() <= 8) {
      axis.ticks = ticks;
      return axis;
    }
  }
  axis.ticks = linear_ticks(axis.low, axis.high, 6);
  return axis;
}

TimeUnit time_unit(double seconds) {
  if (seconds < 180) return {"s", 1};
  if (seconds < 3 * 3600) return {"min", 60};
  return {"h", 3600};
}

}  // namespace voxcycle::svg
