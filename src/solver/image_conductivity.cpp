// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/image_conductivity.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// Infinity where `below` is 0.
double over(double above, double below) {
  return below > 0 ? above / below : std::numeric_limits<double>::infinity();
}

}  // namespace

double ImageFigures::seconds() const {
  double sum = periodic ? periodic->seconds : 0.0;
  for (auto const& one : axes) sum += one.conductivity.seconds;
  return sum;
}

bool ImageFigures::converged() const {
  return (!periodic || periodic->converged) &&
         std::all_of(axes.begin(), axes.end(),
                     [](AxisFigures const& one) { return one.conductivity.converged; });
}

ImageFigures image_conductivity(Grid3 const& grid, at::Tensor const& nu,
                                std::vector<int> const& axes, ConductivityOptions const& options,
                                Solver const* network) {
  auto const voxels = static_cast<double>(grid.voxel_count());
  auto const conducting = static_cast<double>(nu.count_nonzero().item<std::int64_t>());
  double const mean = nu.mean().item<double>(), largest = nu.max().item<double>();
  ImageFigures figures{.grid = grid, .conducting_fraction = conducting / voxels};
  for (int const axis : axes) {
    AxisFigures one{.axis = axis, .conductivity = conductivity_along(grid, nu, axis, options)};
    double const through = one.conductivity.mean;
    one.effective_diffusivity = through / largest;
    one.formation_factor = over(largest, through);
    one.tortuosity_factor = over(mean, through);
    one.tortuosity = std::sqrt(one.tortuosity_factor);
    auto const dropped = static_cast<double>(one.conductivity.dropped_voxels);
    one.percolating_fraction = (conducting - dropped) / conducting;
    if (network != nullptr && one.conductivity.percolates) {
      one.network = network_conductivity(*network, grid, nu, axis);
    }
    figures.axes.push_back(one);
  }
  return figures;
}

ImageFigures periodic_conductivity(Grid3 const& grid, at::Tensor const& nu,
                                   PeriodicTensorOptions const& options) {
  return {.grid = grid, .conducting_fraction = 1.0, .periodic = periodic_tensor(grid, nu, options)};
}

}  // namespace voxcycle
