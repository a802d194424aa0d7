// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/reference/multigrid_pcg.hpp"

#include "voxcycle/poisson/parallel.hpp"

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

// The largest quotient of nu in two voxels that share a face.
double largest_jump(at::Tensor const& nu) {
  at::Tensor const voxels = nu.cpu().contiguous();
  std::int64_t const nx = nu.size(2), ny = nu.size(3), nz = nu.size(4);
  std::vector<double> largest(nu.size(0) * nx, 1.0);
  AT_DISPATCH_FLOATING_TYPES(nu.scalar_type(), "largest_jump", [&] {
    auto const* const values = voxels.const_data_ptr<scalar_t>();
    parallel_for(std::ssize(largest), 6 * ny * nz, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t plane = begin; plane < end; ++plane) {
        scalar_t most = 1;
        auto compare = [&](std::int64_t i, std::int64_t j, std::int64_t count) {
          for (std::int64_t k = 0; k < count; ++k) {
            most = std::max(most, std::max(values[i + k], values[j + k]) /
                                      std::min(values[i + k], values[j + k]));
          }
        };
        for (std::int64_t y = 0; y < ny; ++y) {
          std::int64_t const row = (plane * ny + y) * nz;
          compare(row, row + 1, nz - 1);
          if (y + 1 < ny) compare(row, row + nz, nz);
          if (plane % nx + 1 < nx) compare(row, row + ny * nz, nz);
        }
        largest[plane] = static_cast<double>(most);
      }
    });
  });
  return *std::max_element(largest.begin(), largest.end());
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
