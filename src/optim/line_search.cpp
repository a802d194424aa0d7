// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/optim/line_search.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <cmath>

namespace voxcycle {
namespace {

/// Least and largest factor by which a bracketing step grows.
constexpr double kMinGrowth = 1.1;
constexpr double kMaxGrowth = 10.0;
/// Trial points keep this share of a bracket away from its ends.
constexpr double kMargin = 0.1;
/// A bracket so much shorter than its farther end holds no other float64 worth trying.
constexpr double kShortest = 1e-12;

/// Minimiser of the cubic through values and gradients of two points, NaN if it has none.
double cubic_minimum(LinePoint const& a, LinePoint const& b) {
  double const d1 = a.gradient + b.gradient - 3.0 * (a.value - b.value) / (a.t - b.t);
  double const d2 = std::copysign(std::sqrt(d1 * d1 - a.gradient * b.gradient), b.t - a.t);
  return b.t - (b.t - a.t) * (b.gradient + d2 - d1) / (b.gradient - a.gradient + 2.0 * d2);
}

class Search {
 public:
  Search(std::function<LinePoint(double)> const& phi, LinePoint const& start,
         LineSearchOptions const& options)
      : phi_(phi), start_(start), o_(options), tolerance_(o_.noise * std::abs(start.value)) {}

  LineSearchResult run(double first) {
    LinePoint before = start_;
    double t = first;
    while (evaluations_ < o_.max_evaluations) {
      LinePoint const point = evaluate(t);
      if (!descends(point) || (before.t > 0.0 && point.value >= before.value + tolerance_)) {
        return zoom(before, point);
      }
      if (is_flat(point)) return {point, LineEnd::wolfe, evaluations_};
      if (point.gradient >= 0.0) return zoom(point, before);
      double const step = point.t - before.t;
      double const wanted = cubic_minimum(before, point);
      double const minimum = point.t + kMinGrowth * step;
      double const maximum = point.t + kMaxGrowth * step;
      // A cubic without a minimum ahead (NaN, or behind) goes on falling: the longest step.
      t = wanted > point.t ? std::clamp(wanted, minimum, maximum) : maximum;
      before = point;
    }
    return best(before);
  }

 private:
  LinePoint evaluate(double t) {
    ++evaluations_;
    LinePoint point = phi_(t);
    point.t = t;
    return point;
  }

  /// The first condition; false where phi is not finite.
  bool descends(LinePoint const& p) const {
    if (!p.finite()) return false;
    if (p.value <= start_.value + o_.decrease * p.t * start_.gradient) return true;
    return o_.noise > 0.0 && std::abs(p.value - start_.value) <= tolerance_ &&
           p.gradient <= (2.0 * o_.decrease - 1.0) * start_.gradient;
  }

  /// The second condition.
  bool is_flat(LinePoint const& p) const {
    return std::abs(p.gradient) <= o_.curvature * std::abs(start_.gradient);
  }

  /// Next point to try between `low` and `high`.
  static double between(LinePoint const& low, LinePoint const& high) {
    double const length = high.t - low.t;
    if (!high.finite()) return low.t + kMargin * length;
    double const share = (cubic_minimum(low, high) - low.t) / length;
    return low.t + length * (std::isnan(share) ? 0.5 : std::clamp(share, kMargin, 1.0 - kMargin));
  }

  /// Algorithm 3.6. `low` fulfils the first condition with the least value so far and its gradient
  /// points towards `high`.
  LineSearchResult zoom(LinePoint low, LinePoint high) {
    while (evaluations_ < o_.max_evaluations &&
           std::abs(high.t - low.t) > kShortest * std::max(low.t, high.t)) {
      LinePoint const point = evaluate(between(low, high));
      if (!descends(point) || point.value >= low.value + (low.t > 0.0 ? tolerance_ : 0.0)) {
        if (descends(point) && is_flat(point)) return {point, LineEnd::wolfe, evaluations_};
        high = point;
        continue;
      }
      if (is_flat(point)) return {point, LineEnd::wolfe, evaluations_};
      if (point.gradient * (high.t - low.t) >= 0.0) high = low;
      low = point;
    }
    return best(low);
  }

  LineSearchResult best(LinePoint const& low) const {
    return {low, low.t > 0.0 ? LineEnd::decrease : LineEnd::failed, evaluations_};
  }

  std::function<LinePoint(double)> const& phi_;
  LinePoint const& start_;
  LineSearchOptions const& o_;
  double tolerance_;
  int evaluations_ = 0;
};

}  // namespace

bool LinePoint::finite() const {
  return std::isfinite(value) && std::isfinite(gradient);
}

LineSearchResult strong_wolfe(std::function<LinePoint(double t)> const& phi, LinePoint const& start,
                              double first, LineSearchOptions const& options) {
  VOXCYCLE_REQUIRE(start.finite() && start.gradient < 0.0 && first > 0.0 && std::isfinite(first),
                   "line search: cannot start with value "
                       << start.value << ", gradient " << start.gradient << " and first step "
                       << first << " (the gradient must be negative). Reset the direction.");
  return Search(phi, start, options).run(first);
}

}  // namespace voxcycle
