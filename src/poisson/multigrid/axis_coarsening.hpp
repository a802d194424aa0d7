// SPDX-License-Identifier: BSD-3-Clause
// How the points of a grid are thinned out, axis by axis, for any number of points.
#pragma once

#include "voxcycle/core/host_device.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace voxcycle {

/// Which points of an axis a coarser grid keeps. Coarse point I has its place at fine point 2I, and
/// what it gives to fine points reaches from 2I - 1 to 2I + 1. If the number of points is even, the
/// last one, which is odd, has no coarse point after it: it stays as a coarse point of its own (the
/// last interval is then half as wide as the others), or joins the one before.
///
///     points 0 1 2 3 4     coarse 0   1   2
///     points 0 1 2 3       coarse 0   1 2      place of 2 is 4, where there is no fine point
///     points 0 1 2 3       coarse 0   11       joined
struct AxisCoarsening {
  int points = 1;      ///< of the fine grid, >= 1
  bool joins = false;  ///< of an even number

  /// Number of coarse points, >= 1.
  VOXCYCLE_BOTH constexpr int coarse() const { return joins ? points / 2 : points / 2 + 1; }
  /// Whether fine point f lies between coarse points (f - 1) / 2 and (f + 1) / 2. The others lie on
  /// coarse point (f + shift(f)) / 2.
  VOXCYCLE_BOTH constexpr bool between(int f) const { return f % 2 != 0 && f + 1 < points; }
  /// From fine point f, between none, to the place of its coarse point: 0 unless it is the last of
  /// an even number, which has 1 if it stays and -1 if it joins.
  VOXCYCLE_BOTH constexpr int shift(int f) const { return f % 2 == 0 ? 0 : joins ? -1 : 1; }

  /// Number of the points that lie between two, and of those that lie on one.
  VOXCYCLE_BOTH constexpr int count(bool are_between) const {
    return are_between ? (points - 1) / 2 : points / 2 + 1;
  }
  /// The k-th of them.
  VOXCYCLE_BOTH constexpr int point(bool is_between, int k) const {
    if (is_between) return 2 * k + 1;
    return 2 * k < points ? 2 * k : points - 1;
  }
};

/// Of the axes x, y and z.
struct GridCoarsening {
  AxisCoarsening axes[3];

  VOXCYCLE_BOTH constexpr AxisCoarsening const& operator[](int axis) const { return axes[axis]; }
};

/// Where the points of an axis lie, as far as it matters to what is coarsened how.
struct PointAxis {
  std::int64_t points = 1;
  double spacing = 1.0;  ///< between neighbours
  double last = 1.0;     ///< width of the last interval, in spacings; (0, 1]
  bool held = false;     ///< whether the last point's value is known
};
using PointAxes = std::array<PointAxis, 3>;

/// The coarsening of one axis of a grid. A last point stays where its value is known. Another last
/// point stays where intervals are equal, and joins where the last interval is narrow. Kept time
/// and again, it would be tied to its neighbour so much more than to the points beside both that
/// smoothing could no longer tell them apart. So the last two points of an axis, too, become one as
/// soon as the others are as far apart as they are.
constexpr AxisCoarsening coarsening_of(PointAxes const& axes, int axis) {
  PointAxis const& here = axes[axis];
  AxisCoarsening result{static_cast<int>(here.points), false};
  if (here.points % 2 != 0 || here.held) return result;
  constexpr double narrow = 0.6;
  result.joins = here.last < narrow;
  if (here.points > 2) return result;
  constexpr double rounding = 0.99;  // equal spacings may differ by it
  result.joins = true;
  for (int other = 0; other < 3; ++other) {
    double const width = here.last * here.spacing;
    bool const near = axes[other].points > 2 && axes[other].spacing < rounding * width;
    if (near) result.joins = false;
  }
  return result;
}

/// The coarsening of all axes.
constexpr GridCoarsening coarsening_of(PointAxes const& axes) {
  return {{coarsening_of(axes, 0), coarsening_of(axes, 1), coarsening_of(axes, 2)}};
}

/// The coarse points.
constexpr PointAxis coarsened(PointAxis const& axis, AxisCoarsening const& coarsening) {
  double last = 1.0;
  if (axis.points % 2 != 0) {
    last = (1.0 + axis.last) / 2.0;
  } else if (!coarsening.joins) {
    last = axis.last / 2.0;
  }
  return {coarsening.coarse(), 2.0 * axis.spacing, last, axis.held};
}

/// Number of voxels, twice as long, that stand for n along an axis where nu is averaged. The last
/// one of an odd n is half full. If its face has Dirichlet values, it is left out, as fields are
/// near zero there: then no coarse node's field reaches beyond the face.
constexpr std::int64_t averaged_voxels(std::int64_t n, bool dirichlet_end) {
  return dirichlet_end ? n / 2 : (n + 1) / 2;
}

}  // namespace voxcycle
