// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/report/svg_chart.hpp"

#include "voxcycle/core/text.hpp"
#include "voxcycle/report/html.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace voxcycle::svg {
namespace {

// The picture in its own units, which are about pixels on a telephone.
constexpr double kWidth = 420;
constexpr double kHeight = 300;
constexpr double kMinimum = 48;  // of the left edge
constexpr double kRight = 412;
constexpr double kTop = 24;
constexpr double kBottom = 258;
constexpr double kLabelGap = 4;
constexpr double kTitle = 13;   // baseline of the y axis' title
constexpr double kMarkers = 9;  // the least distance of markers along a line

struct Place {
  double x = 0.0;
  double y = 0.0;
};

/// Pixels that a text takes, about; the marks of UTF-8 continuation bytes take no room.
double width_of(std::string const& text) {
  auto const letters =
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; });
  return 7.5 * static_cast<double>(letters);
}

/// Where the plot begins, to the right of the axis' title and its longest label.
double left_of(Chart const& chart) {
  double left = kMinimum;
  for (Tick const& tick : chart.y.ticks) {
    left = std::max(left, kTitle + width_of(tick.label) + 12);
  }
  return left;
}

/// A chart and where its plot begins.
struct Frame {
  explicit Frame(Chart const& of) : chart(of), left(left_of(of)) {}
  Chart const& chart;
  double left;
};

/// What no logarithmic axis reaches stands at its left end.
double x_of(Frame const& frame, double x) {
  Axis const& axis = frame.chart.x;
  if (axis.logarithmic && x <= 0) return frame.left;
  return frame.left + (kRight - frame.left) * axis.position(x);
}
double y_of(Chart const& chart, double y) {
  return kBottom - (kBottom - kTop) * chart.y.position(y);
}

bool drawable(Chart const& chart, Point const& point) {
  return std::isfinite(point.x) && std::isfinite(point.y) && (!chart.y.logarithmic || point.y > 0);
}

std::string text(Place at, char const* anchor, std::string const& content) {
  return html::element("text", format("x='%.1f' y='%.1f' text-anchor='%s'", at.x, at.y, anchor),
                       content);
}

std::string line(char const* kind, Place a, Place b) {
  return format("<line class='%s' x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f'/>\n", kind, a.x, a.y, b.x,
                b.y);
}

std::string draw_bands(Frame const& frame) {
  std::string out;
  int count = 0;
  for (Band const& band : frame.chart.bands) {
    double const begin = std::clamp(x_of(frame, band.begin), frame.left, kRight);
    double const end = std::clamp(x_of(frame, band.end), frame.left, kRight);
    out += html::element("rect",
                         format("class='%s' x='%.1f' y='%.1f' width='%.1f' height='%.1f'",
                                count++ % 2 == 0 ? "band" : "open", begin, kTop - 18,
                                std::max(end - begin, 0.0), kBottom - kTop + 18),
                         html::element("title", "", html::escape(band.note)));
    if (width_of(band.label) < end - begin) {
      out += text({(begin + end) / 2, kTop - 5}, "middle", html::grid(band.label));
    }
  }
  return out;
}

std::string y_title(std::string const& label) {
  double const middle = (kTop + kBottom) / 2;
  return html::element(
      "text",
      format("text-anchor='middle' transform='translate(%.0f %.0f) rotate(-90)'", kTitle, middle),
      html::escape(label));
}

/// The least number n such that the labels of every n-th tick of the x axis keep apart.
std::size_t label_distance(Frame const& frame) {
  auto const& ticks = frame.chart.x.ticks;
  for (std::size_t every = 1; every < ticks.size(); ++every) {
    bool apart = true;
    for (std::size_t k = every; k < ticks.size(); k += every) {
      double const room = x_of(frame, ticks[k].value) - x_of(frame, ticks[k - every].value);
      double const taken = (width_of(ticks[k].label) + width_of(ticks[k - every].label)) / 2;
      apart = apart && taken + kLabelGap <= room;
    }
    if (apart) return every;
  }
  return std::max<std::size_t>(ticks.size(), 1);
}

std::string draw_axes(Frame const& frame) {
  auto const& [chart, left] = frame;
  std::string out;
  for (Tick const& tick : chart.y.ticks) {
    double const y = y_of(chart, tick.value);
    out += line("gridline", {left, y}, {kRight, y});
    out += text({left - 7, y + 4}, "end", html::escape(tick.label));
  }
  out += y_title(chart.y_label);
  std::size_t const every = label_distance(frame);
  for (std::size_t k = 0; k < chart.x.ticks.size(); ++k) {
    Tick const& tick = chart.x.ticks[k];
    double const x = x_of(frame, tick.value);
    out += line("axis", {x, kBottom}, {x, kBottom + 4});
    if (k % every != 0) continue;
    double const middle = std::min(x, kWidth - width_of(tick.label) / 2);
    out += text({middle, kBottom + 18}, "middle", html::escape(tick.label));
  }
  out += line("axis", {left, kBottom}, {kRight, kBottom});
  out += text({(left + kRight) / 2, kBottom + 36}, "middle", html::escape(chart.x_label));
  return out;
}

/// A shape of its own for each colour, so that colour is not needed to tell the series apart.
std::string marker(int color, Place at, std::string const& note) {
  std::string const title = note.empty() ? "" : html::element("title", "", html::escape(note));
  std::string const kind = format("class='mark s%d'", color);
  if (color == 0) {
    return html::element("circle", kind + format(" cx='%.1f' cy='%.1f' r='3.3'", at.x, at.y),
                         title);
  }
  // Square, triangle, diamond, triangle down, bar, cross.
  constexpr std::array<char const*, kColors - 1> shapes{
      "m-3 -3h6v6h-6z",
      "m0 -4.2l4 7h-8z",
      "m0 -4.4l4.4 4.4l-4.4 4.4l-4.4 -4.4z",
      "m0 4.2l4 -7h-8z",
      "m-2 -4.4h4v8.8h-4z",
      "m-1.3 -4h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7v-2.6h2.7z"};
  return html::element("path",
                       kind + format(" d='M%.1f %.1f%s'", at.x, at.y,
                                     shapes.at(static_cast<std::size_t>(color - 1))),
                       title);
}

/// An arrow at the upper edge, where a point lies beyond it.
std::string arrow(int color, double x, std::string const& note) {
  return html::element("path",
                       format("class='line s%d' d='M%.1f %.1fl4 -6l4 6'", color, x - 4, kTop + 3),
                       note.empty() ? "" : html::element("title", "", html::escape(note)));
}

std::string line_class(Series const& series) {
  constexpr std::array<char const*, kDashes> dashes{"", " dashed", " dotted", " dash-dot"};
  return format("line s%d%s%s", series.color, series.faint ? " faint" : "",
                dashes.at(static_cast<std::size_t>(series.dash)));
}

std::string draw_series(Frame const& frame, Series const& series) {
  Chart const& chart = frame.chart;
  std::string lines;
  std::string marks;
  std::string path;
  int length = 0;
  Place last;
  Place const nowhere{-kWidth, 0};
  Place marked = nowhere;
  auto const finish = [&] {
    if (length > 1) {
      lines += format("<polyline class='%s' points='", line_class(series).c_str()) + path + "'/>\n";
    } else if (length == 1 && !series.markers) {
      marks += marker(series.color, last, "");  // no line shows it
    }
    path.clear();
    length = 0;
  };
  int segment = 0;
  for (Point const& point : series.points) {
    if (!drawable(chart, point)) {
      finish();
      continue;
    }
    if (point.segment != segment) {
      finish();
      marked = nowhere;
    }
    segment = point.segment;
    Place const at{x_of(frame, point.x), y_of(chart, point.y)};
    path += format("%s%.1f,%.1f", length++ == 0 ? "" : " ", at.x, at.y);
    last = at;
    bool const close = std::hypot(at.x - marked.x, at.y - marked.y) < kMarkers;
    if (series.markers && (!close || &point == &series.points.back())) {
      marked = at;
      marks += at.y < kTop ? arrow(series.color, at.x, point.note)
                           : marker(series.color, at, point.note);
    }
  }
  finish();
  return lines + marks;
}

}  // namespace

Series curve(std::string name, std::size_t number) {
  return {.name = std::move(name),
          .color = static_cast<int>(number % kColors),
          .markers = true,
          .points = {},
          .dash = static_cast<int>(number % kDashes)};
}

std::string render(Chart const& chart) {
  Frame const frame(chart);
  std::string content = html::element("title", "", html::escape(chart.title));
  // A frame a little larger than the plot keeps markers at its edge whole.
  content +=
      html::element("clipPath", "id='" + chart.id + "'",
                    format("<rect x='%.0f' y='%.0f' width='%.0f' height='%.0f'/>", frame.left - 5,
                           kTop - 5, kRight - frame.left + 12, kBottom - kTop + 9));
  content += draw_bands(frame);
  content += draw_axes(frame);
  std::string drawn;
  for (Series const& series : chart.series) drawn += draw_series(frame, series);
  content += html::element("g", "clip-path='url(#" + chart.id + ")'", drawn);
  return html::element("svg", format("viewBox='0 0 %.0f %.0f' role='img'", kWidth, kHeight),
                       content);
}

std::string legend(std::vector<Series> const& series) {
  std::string entries;
  for (auto const& one : series) {
    std::string swatch =
        format("<line class='%s' x1='1' y1='7' x2='37' y2='7'/>", line_class(one).c_str());
    if (one.markers) swatch += marker(one.color, {19, 7}, "");
    entries +=
        html::element("span", "",
                      html::element("svg", "viewBox='0 0 38 14' aria-hidden='true'", swatch) +
                          html::grid(one.name));
  }
  return html::element("div", "class='legend'", entries);
}

std::string figure(Chart const& chart, std::string const& caption) {
  return html::element("figure", "class='chart'",
                       html::element("h3", "", html::escape(chart.title)) + render(chart) +
                           (caption.empty() ? "" : html::element("figcaption", "", caption)));
}

std::vector<Point> thin_out(std::vector<Point> const& points, std::size_t maximum) {
  if (points.size() <= maximum || maximum < 2) return points;
  std::size_t const bins = maximum / 2;
  std::vector<Point> kept;
  kept.reserve(2 * bins);
  for (std::size_t bin = 0; bin < bins; ++bin) {
    auto const begin = points.begin() + static_cast<std::ptrdiff_t>(points.size() * bin / bins);
    auto const end = points.begin() + static_cast<std::ptrdiff_t>(points.size() * (bin + 1) / bins);
    auto const [low, high] =
        std::minmax_element(begin, end, [](Point const& a, Point const& b) { return a.y < b.y; });
    kept.push_back(std::min(low, high)[0]);
    if (low != high) kept.push_back(std::max(low, high)[0]);
  }
  return kept;
}

}  // namespace voxcycle::svg
