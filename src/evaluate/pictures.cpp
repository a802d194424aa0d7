// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/tensor_values.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/evaluate/evaluation.hpp"
#include "voxcycle/io/png.hpp"
#include "voxcycle/network/predict.hpp"
#include "voxcycle/report/html.hpp"

#include <algorithm>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// Pictures are about this many pixels wide.
constexpr std::int64_t kPicturePixels = 260;

/// The middle plane in z of [1, 1, X, Y, Z] on this process' part, as a whole with x to the right
/// and y upwards: [Y, X]. **Collective**.
at::Tensor middle_plane(Space const& space, at::Tensor const& field) {
  at::Tensor const own = field.narrow(4, field.size(4) / 2, 1).to(at::kCPU, at::kDouble);
  bool const on_nodes = field.size(3) != space.slab().whole.voxels[1];
  Space const whole(space.slab().whole);
  at::Tensor const plane = on_nodes ? space.nodes_on(whole, own) : space.voxels_on(whole, own);
  return plane[0][0].squeeze(2).t().flip(0).contiguous();
}

ColorRange range_of(at::Tensor const& plane) {
  return range_of_finite(values_of(plane));
}

Picture picture(std::string caption, at::Tensor const& plane, ColorRange range, ColorMap colors,
                std::string unit) {
  auto const scale = static_cast<int>(std::max<std::int64_t>(1, kPicturePixels / plane.size(1)));
  return {std::move(caption),
          slice_to_png(values_of(plane), plane.size(0), plane.size(1), range.low, range.high,
                       colors, scale),
          range.low,
          range.high,
          std::move(unit),
          colors};
}

SamplePictures pictures_of(ProcessGrid const& process_grid, Network& network,
                           HeldOutSamples const& samples, SampleErrors const& errors,
                           std::string const& which, at::ScalarType dtype) {
  HeldOutSet const set = samples.read(errors.index, errors.index + 1);
  Space const space = process_grid.space(set.grid);
  auto const reference = middle_plane(space, set.u_ref);
  auto const u =
      middle_plane(space, predict_part(process_grid, network, space, set.nu, set.f, dtype));
  auto const log_nu = middle_plane(space, set.nu).log10();
  auto const error = u - reference;
  ColorRange const of_u = range_of(reference);
  double const maximum = std::max(range_of(error.abs()).high, 1e-300);
  SamplePictures shown;
  shown.title = which + " sample (index " + std::to_string(errors.index) + ")";
  shown.note = "Relative L2 " + format_percent(errors.rel_l2) + ", energy gap " +
               format_percent(errors.energy_gap) + ", energy-norm error " +
               format_percent(errors.energy_norm_error) +
               ". Middle plane in z, x to the right, y upwards.";
  shown.pictures = {
      picture("coefficient, log10 nu", log_nu, range_of(log_nu), ColorMap::sequential, ""),
      picture("network, u", u, of_u, ColorMap::sequential, ""),
      picture("reference, u*", reference, of_u, ColorMap::sequential, ""),
      picture("error, u - u*", error, {-maximum, maximum}, ColorMap::diverging, ""),
  };
  return shown;
}

}  // namespace

std::vector<SamplePictures> pictures_of_samples(ProcessGrid const& all, Network& network,
                                                HeldOutSamples const& samples,
                                                Evaluation const& evaluation,
                                                at::ScalarType dtype) {
  auto const sorted = worst_first(evaluation.samples);
  if (sorted.empty()) return {};
  ProcessGrid const process_grid = all.on(samples.grid);
  auto const pictures = [&](SampleErrors const& errors, char const* which) {
    return pictures_of(process_grid, network, samples, errors, which, dtype);
  };
  std::vector<SamplePictures> shown{pictures(sorted.front(), "worst")};
  if (sorted.size() > 1) shown.push_back(pictures(sorted[sorted.size() / 2], "median"));
  return shown;
}

}  // namespace voxcycle
