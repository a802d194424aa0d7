// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/report/svg_chart_axis.hpp"

#include <string>
#include <vector>

namespace voxcycle::svg {

/// A point of a series in the units of the axes.
struct Point {
  double x = 0.0;
  double y = 0.0;
  int segment = 0;   ///< a line is broken where this changes
  std::string note;  ///< shown while the pointer rests on the point's marker
};

/// Colours in the style sheet, each with a marker of its own. Readers of any colour vision tell
/// them apart: none of their pairs is closer than 24 in CIELAB, as seen with all cones or without
/// one of the three kinds (Machado, Oliveira, Fernandes 2009).
inline constexpr int kColors = 7;
/// Kinds of lines.
inline constexpr int kDashes = 4;

/// A line through points; its colour follows `color`, a number from 0 to kColors - 1.
struct Series {
  std::string name;
  int color = 0;
  bool markers = false;  ///< a shape a point, one kind a colour
  bool faint = false;    ///< drawn thin and pale, behind a main line
  std::vector<Point> points;
  int dash = 0;  ///< 0 solid, 1 dashed, 2 dotted, 3 dashes and dots
};

/// @return the chart's curve of this number, from 0 on, with no points yet: colour, marker and
/// dashes are together those of no other of the first kColors * kDashes.
Series curve(std::string name, std::size_t number);

/// A vertical band over a range of x.
struct Band {
  double begin = 0.0;
  double end = 0.0;
  std::string label;  ///< written at the top where there is room
  std::string note;   ///< shown while the pointer rests on the band
};

struct Chart {
  std::string id;       ///< unique on the page: letters and dashes
  std::string title;    ///< for readers who do not see the picture
  std::string x_label;  ///< with the unit, e.g. "training time, min"
  std::string y_label;
  Axis x;
  Axis y;
  std::vector<Band> bands;
  std::vector<Series> series;
};

/// @return the chart as an inline <svg> element that scales with its container. Points that are not
/// finite, or not positive on a logarithmic y axis, are left out, on such an x axis they stand at
/// its left end; lines end at the frame, and the marker of a point above it is an arrow at its
/// edge. Where points lie close together, some have no marker.
std::string render(Chart const& chart);

/// @return the names of the series, each behind a small <svg> of its line and marker.
std::string legend(std::vector<Series> const& series);

/// @return the chart as a figure with its title; `caption` is HTML already, "" for none.
std::string figure(Chart const& chart, std::string const& caption);

/// @return at most `most` points that look the same as all: of each of most/2 runs of points the
/// lowest and the highest.
std::vector<Point> thin_out(std::vector<Point> const& points, std::size_t maximum);

}  // namespace voxcycle::svg
