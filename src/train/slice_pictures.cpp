// SPDX-License-Identifier: BSD-3-Clause
#include "train/slice_pictures.hpp"

#include "voxcycle/core/tensor_values.hpp"
#include "voxcycle/io/png.hpp"

#include <algorithm>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// Pictures of small grids are about this many pixels wide.
constexpr std::int64_t kPixels = 256;

at::Tensor middle_plane_of(at::Tensor const& field) {
  return field.select(2, field.size(2) / 2).to(at::kCPU, at::kDouble).t().flip(0).contiguous();
}

std::string png_of(at::Tensor const& plane, ColorRange range, ColorMap colors) {
  auto const scale = static_cast<int>(std::max<std::int64_t>(1, kPixels / plane.size(1)));
  return slice_to_png(values_of(plane), plane.size(0), plane.size(1), range.low, range.high, colors,
                      scale);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> slice_pictures(at::Tensor const& u,
                                                                at::Tensor const& u_ref) {
  auto const reference = middle_plane_of(u_ref), solution = middle_plane_of(u);
  auto const error = (solution - reference).contiguous();
  double const largest =
      std::max(range_of_finite(values_of(error.abs().contiguous())).high, 1e-300);
  return {{"u", png_of(solution, range_of_finite(values_of(reference)), ColorMap::sequential)},
          {"error", png_of(error, {-largest, largest}, ColorMap::diverging)}};
}

}  // namespace voxcycle
