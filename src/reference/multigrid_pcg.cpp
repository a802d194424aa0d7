// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/reference/multigrid_pcg.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

// Neighbouring voxels of a field that averages represent well differ by no more than this factor.
constexpr double smooth_jump = 2.0;

// Larger quotients of nu's largest and least values are too much for cycles in float32.
constexpr double float32_contrast = 1e8;
// Cycles in float32 have room for nu between this and its inverse as it is.
constexpr double least_plain = 0x1p-40;

// So many voxels at once: comparing takes three fields of them.
constexpr std::int64_t compared_voxels = std::int64_t{1} << 20;

// The largest quotient of nu in two voxels that share a face, where nu is.
double largest_jump(at::Tensor const& nu) {
  std::vector<at::Tensor> largest{at::ones({}, nu.options())};
  auto const compare = [&](at::Tensor const& planes, int axis) {
    std::int64_t const pairs = planes.size(axis) - 1;
    if (pairs == 0) return;
    at::Tensor const a = planes.narrow(axis, 0, pairs), b = planes.narrow(axis, 1, pairs);
    largest.push_back(at::maximum(a, b).div_(at::minimum(a, b)).max());
  };
  std::int64_t const nx = nu.size(2);
  std::int64_t const thickness = std::max(std::int64_t{1}, compared_voxels * nx / nu.numel());
  for (std::int64_t x = 0; x < nx; x += thickness) {
    at::Tensor const slab = nu.narrow(2, x, std::min(thickness, nx - x));
    compare(nu.narrow(2, x, std::min(thickness + 1, nx - x)), 2);
    compare(slab, 3);
    compare(slab, 4);
  }
  return at::stack(largest).max().item<double>();
}

}  // namespace

void fit_float32(at::Tensor& nu, std::optional<at::Tensor>& b) {
  double const largest = nu.max().item<double>();
  bool const sound = largest > 0.0 && std::isfinite(largest);  // others are refused later
  if (!sound || (largest > least_plain && largest < 1.0 / least_plain)) return;
  double const scale = std::exp2(std::floor(std::log2(largest)));
  nu = nu / scale;
  if (b) b = *b / scale;
}

MultigridOptions multigrid_options_for(at::Tensor const& nu) {
  MultigridOptions options;
  double const contrast = nu.max().item<double>() / nu.min().item<double>();
  options.dtype = contrast < float32_contrast ? at::kFloat : at::kDouble;
  if (largest_jump(nu) > smooth_jump) options.coarse = CoarseOperator::black_box;
  return options;
}

SolveResult solve_multigrid_pcg(Problem const& problem, at::Tensor const& nu,
                                SolveOptions const& options,
                                std::optional<MultigridOptions> const& multigrid,
                                std::optional<at::Tensor> const& b,
                                std::optional<at::Tensor> const& start) {
  at::Tensor scaled = nu;
  std::optional<at::Tensor> load = b;
  fit_float32(scaled, load);
  Multigrid const hierarchy(problem.grid, problem.boundary, scaled,
                            multigrid ? *multigrid : multigrid_options_for(scaled));
  auto precondition = [&](at::Tensor const& r) { return hierarchy.cycle(r); };
  return solve_pcg(problem, scaled, precondition, options, load, start);
}

}  // namespace voxcycle
