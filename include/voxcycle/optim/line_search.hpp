// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>

namespace voxcycle {

/// A function along a line, phi(t) = F(x + t d), at one t.
struct LinePoint {
  double t = 0.0;
  double value = 0.0;     ///< phi(t); may be infinite or NaN
  double gradient = 0.0;  ///< phi'(t)
  bool finite() const;
};

struct LineSearchOptions {
  double decrease = 1e-4;  ///< c1: phi(t) <= phi(0) + c1 t phi'(0), (0, 1/2)
  double curvature = 0.9;  ///< c2: |phi'(t)| <= c2 |phi'(0)|, (c1, 1)
  /// Relative error of values, >= 0. Values so close to phi(0) say nothing about a decrease; there
  /// gradients decide: phi'(t) <= (2 c1 - 1) phi'(0), which a parabola fulfils where it fulfils the
  /// decrease (Hager and Zhang 2005, "A new conjugate gradient method", eq. 4.1).
  double noise = 1e-14;
  int max_evaluations = 20;  ///< >= 1
};

/// How a search ended.
enum class LineEnd {
  wolfe,     ///< at a point that fulfils both conditions
  decrease,  ///< out of evaluations, at the best point that fulfils the first
  failed,    ///< no such point was found; the result is t = 0
};

struct LineSearchResult {
  LinePoint point;
  LineEnd end = LineEnd::failed;
  int evaluations = 0;
};

/// Looks for a t > 0 that fulfils the strong Wolfe conditions: bracketing by extrapolation, then
/// cubic interpolation within the bracket, both safeguarded (Nocedal and Wright 2006, "Numerical
/// Optimization", algorithms 3.5 and 3.6, eq. 3.59). Where phi is not finite the search backs off.
/// Deterministic: the same values lead to the same t.
///
/// @param phi    evaluates the function and its gradient at t > 0
/// @param start  at t = 0, finite, with gradient < 0
/// @param first  first t to try, > 0
/// @throws Error for a start that is not finite or does not descend.
LineSearchResult strong_wolfe(std::function<LinePoint(double t)> const& phi, LinePoint const& start,
                              double first, LineSearchOptions const& options = {});

}  // namespace voxcycle
