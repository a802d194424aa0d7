// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/evaluate/slices.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/tensor_values.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/report/pictures.hpp"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// Pictures of small grids are about this many pixels long.
constexpr double kPixels = 512;
/// Longer ones leave out voxels rather than lengthen the others.
constexpr double kMaxPixels = 4096;

/// A plane across an axis, [rows, columns], with the edges of a value in each direction.
struct Plane {
  at::Tensor values;
  double height = 1.0;
  double width = 1.0;
};

/// The middle plane across an axis: the first of the other two axes to the right, the second
/// upwards.
Plane middle_plane(MiddlePlane const& field, Grid3 const& grid, int axis) {
  return {field(axis).t().flip(0), grid.spacing(axis == 2 ? 1 : 2),
          grid.spacing(axis == 0 ? 1 : 0)};
}

/// `count` values, each the nearest to its pixel, of n along dimension `dim`.
at::Tensor nearest(at::Tensor const& values, std::int64_t dim, std::int64_t count) {
  auto const places = at::arange(count, at::kLong).mul(values.size(dim)).floor_divide(count);
  return values.index_select(dim, places);
}

/// The plane on square pixels. The shorter edge of a value takes a whole number of them, unless the
/// picture became too long.
at::Tensor to_scale(Plane const& plane) {
  auto const rows = plane.values.size(0);
  auto const columns = plane.values.size(1);
  double const longest = std::max(static_cast<double>(rows) * plane.height,
                                  static_cast<double>(columns) * plane.width);
  double const edge = std::min(plane.height, plane.width);
  constexpr double rounding = 1e-6;  // of spacings read from files
  double const whole = std::max(1.0, std::floor(kPixels * edge / longest + rounding));
  double const maximum =
      std::max({kMaxPixels, static_cast<double>(rows), static_cast<double>(columns)});
  double const per_length = std::min(whole / edge, maximum / longest);
  auto const pixels = [&](std::int64_t count, double length) {
    return std::max<std::int64_t>(1,
                                  std::llround(static_cast<double>(count) * length * per_length));
  };
  auto const wide = nearest(plane.values, 1, pixels(columns, plane.width));
  return nearest(wide, 0, pixels(rows, plane.height)).contiguous();
}

ColorRange range_of(std::vector<Plane> const& planes) {
  std::vector<at::Tensor> parts;
  for (auto const& plane : planes) parts.push_back(plane.values.flatten());
  return range_of_finite(values_of(at::cat(parts)));
}

using Files = std::vector<std::pair<std::string, std::string>>;

/// Three pictures of a field. @param paths  what their files' paths begin with
SamplePictures draw(Files& files, std::string const& paths, std::string const& name,
                    std::vector<Plane> const& planes, ColorRange range) {
  constexpr char const* directions[] = {"y to the right, z upwards", "x to the right, z upwards",
                                        "x to the right, y upwards"};
  SamplePictures shown{.title = name, .note = "", .pictures = {}};
  for (std::size_t axis = 0; axis < planes.size(); ++axis) {
    auto const pixels = to_scale(planes[axis]);
    auto const png = slice_to_png(values_of(pixels), pixels.size(0), pixels.size(1), range.low,
                                  range.high, ColorMap::sequential, 1);
    files.emplace_back(paths + "_" + "xyz"[axis] + ".png", png);
    shown.pictures.push_back({.caption = name + ", across " + "xyz"[axis] + ": " + directions[axis],
                              .png = png,
                              .low = range.low,
                              .high = range.high,
                              .unit = ""});
  }
  return shown;
}

}  // namespace

SliceRanges write_slices(std::string const& directory, std::string const& title,
                         std::vector<std::pair<std::string, std::string>> const& figures,
                         Grid3 const& grid, MiddlePlane const& u, MiddlePlane const& nu) {
  std::vector<Plane> of_u;
  std::vector<Plane> of_nu;
  for (int axis = 0; axis < 3; ++axis) {
    of_u.push_back(middle_plane(u, grid, axis));
    of_nu.push_back(middle_plane(nu, grid, axis));
    of_nu.back().values = of_nu.back().values.log10();
  }
  SliceRanges const ranges{range_of(of_u), range_of(of_nu)};
  Files files;
  auto solution = draw(files, directory + "/u", "u", of_u, ranges.u);
  solution.note = format("Middle planes of %s voxels, each %.4g x %.4g x %.4g, to scale.",
                         grid.name().c_str(), grid.spacing(0), grid.spacing(1), grid.spacing(2));
  auto const coefficient = draw(files, directory + "/nu", "log10 nu", of_nu, ranges.log10_nu);
  files.emplace_back(directory + "/slices.html",
                     render_slices(title, figures, {solution, coefficient}));
  write_files_atomically(files);
  return ranges;
}

std::string to_string(SliceRanges const& ranges) {
  auto const text = [](ColorRange const& range) {
    auto const [low, high] = format_ends(range.low, range.high, 4);
    return low + " to " + high;
  };
  return "u " + text(ranges.u) + ", log10 nu " + text(ranges.log10_nu);
}

}  // namespace voxcycle
