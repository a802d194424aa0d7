// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/multigrid_pcg.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

// Neighbouring voxels of a field that averages represent well differ by no more than this factor.
constexpr double smooth_jump = 2.0;

// Larger quotients of a matrix' couplings are too much for cycles in float32: of nu's largest and
// least values, times that of a voxel's edges squared.
constexpr double float32_contrast = 1e8;
// In cycles, voxels of 0 have this share of the least other nu. What it lets through is little
// beside the rest, and float32 has room for it.
constexpr double empty_share = 1e-4;
// Cycles in float32 have room for nu between this and its inverse as it is.
constexpr double min_plain = 0x1p-40;

// Whether nu jumps in two voxels that share a face, by more than smooth_jump. A few planes at a
// time: on CPUs three fields of them stay in a core's cache, on GPUs they are little memory.
bool jumps_here(at::Tensor const& nu) {
  std::int64_t const nx = nu.size(2);
  std::int64_t const voxels = std::int64_t{1} << (nu.is_cuda() ? 24 : 16);
  std::int64_t const thickness = std::max(std::int64_t{1}, voxels * nx / nu.numel());
  auto const jumps_along = [&](at::Tensor const& planes, int axis) {
    std::int64_t const pairs = planes.size(axis) - 1;
    if (pairs == 0) return false;
    at::Tensor const a = planes.narrow(axis, 0, pairs), b = planes.narrow(axis, 1, pairs);
    at::Tensor const excess = at::maximum(a, b).sub_(at::minimum(a, b), smooth_jump);
    return excess.max().item<double>() > 0.0;
  };
  for (std::int64_t x = 0; x < nx; x += thickness) {
    at::Tensor const slab = nu.narrow(2, x, std::min(thickness, nx - x));
    at::Tensor const with_next = nu.narrow(2, x, std::min(thickness + 1, nx - x));
    if (jumps_along(with_next, 2) || jumps_along(slab, 3) || jumps_along(slab, 4)) return true;
  }
  return false;
}

// The same for all processes, of which each has a part.
bool jumps(Space const& space, at::Tensor const& nu) {
  return space.max(jumps_here(nu) ? 1.0 : 0.0) > 0.0;
}

}  // namespace

void fit_float32(Space const& space, at::Tensor& nu, std::optional<at::Tensor>& b) {
  double const largest = space.max(nu.max().item<double>());
  bool const sound = largest > 0.0 && std::isfinite(largest);  // others are refused later
  if (!sound || (largest > min_plain && largest < 1.0 / min_plain)) return;
  double const scale = std::exp2(std::floor(std::log2(largest)));
  nu = nu / scale;
  if (b) b = *b / scale;
}

at::Tensor without_zeros(at::Tensor const& nu) {
  if (nu.min().item<double>() > 0.0) return nu;
  at::Tensor const positive = nu > 0.0;
  double const least =
      at::where(positive, nu, std::numeric_limits<double>::infinity()).min().item<double>();
  return at::where(positive, nu, std::isfinite(least) ? least * empty_share : 1.0);
}

Multigrid multigrid_for(Problem const& problem, at::Tensor const& nu,
                        MultigridOptions const& options) {
  VOXCYCLE_REQUIRE(problem.opposite == OppositeFaces::apart,
                   "multigrid knows no periodic faces. Take solve_fft_pcg.");
  at::Tensor const filled = without_zeros(nu);
  if (problem.scheme == Scheme::q1) {
    return Multigrid(problem.here(), problem.boundary, filled, options);
  }
  MultigridOptions without_bodies = options;
  without_bodies.deflate_bodies = false;
  return Multigrid(problem.unknowns(), problem.boundary,
                   Couplings{finite_volume_couplings(problem.grid, problem.boundary, filled)},
                   without_bodies);
}

MultigridOptions multigrid_options_for(Space const& space, at::Tensor const& given) {
  Grid3 const& grid = space.slab().whole;
  at::Tensor const nu = without_zeros(given);
  MultigridOptions options;
  auto const [minimum, maximum] = nu.aminmax();
  double const contrast = space.max(maximum.item<double>()) / space.min(minimum.item<double>());
  double shortest = grid.spacing(0), longest = shortest;
  for (int axis = 1; axis < 3; ++axis) {
    shortest = std::min(shortest, grid.spacing(axis));
    longest = std::max(longest, grid.spacing(axis));
  }
  double const stretch = longest / shortest;
  options.dtype = contrast * stretch * stretch < float32_contrast ? at::kFloat : at::kDouble;
  if (jumps(space, nu)) {
    options.coarse = CoarseOperator::black_box;
    options.deflate_bodies = nu.size(0) == 1;
  }
  return options;
}

SolveResult solve_multigrid_pcg(Problem const& problem, at::Tensor const& nu,
                                SolveOptions const& options,
                                std::optional<MultigridOptions> const& multigrid,
                                std::optional<at::Tensor> const& b,
                                std::optional<at::Tensor> const& start) {
  at::Tensor scaled = nu;
  std::optional<at::Tensor> load = b;
  Space const space = problem.space ? *problem.space : Space(problem.grid);
  fit_float32(space, scaled, load);
  Multigrid const hierarchy =
      multigrid_for(problem, scaled, multigrid ? *multigrid : multigrid_options_for(space, scaled));
  auto precondition = [&](at::Tensor const& r) { return hierarchy.cycle(r); };
  return solve_pcg(problem, scaled, precondition, options, load, start);
}

}  // namespace voxcycle
