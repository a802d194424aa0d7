// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/operator/level_operator.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/poisson/parallel.hpp"

#include <algorithm>
#include <optional>

#include "poisson/operator/device.hpp"
#include "poisson/operator/element_matrix.hpp"
#include "poisson/operator/node_points.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

// Nothing where an axis has but one voxel, which averages cannot halve, or where voxels would be
// left out of coarse grids, too: of 127, 63 and 31, for example, that needed 13 iterations instead
// of 9.
std::optional<Grid3> averaged_grid(Grid3 const& fine, Boundary const& boundary, bool finest) {
  Grid3 coarse = fine;
  for (int axis = 0; axis < 3; ++axis) {
    std::int64_t const n = fine.voxels[axis];
    bool const dirichlet_end = boundary.face(axis, 1).kind == FaceKind::dirichlet;
    if (n == 1 || (n % 2 != 0 && dirichlet_end && !finest)) return {};
    coarse.voxels[axis] = averaged_voxels(n, dirichlet_end);
    if (n % 2 == 0) continue;
    coarse.lengths[axis] = 2.0 * fine.spacing(axis) * static_cast<double>(coarse.voxels[axis]);
  }
  return coarse;
}

class VoxelOperator : public LevelOperator {
 public:
  VoxelOperator(Space const& space, at::Tensor const& nu, bool finest)
      : LevelOperator(space), nu_(nu), finest_(finest) {}

  at::Tensor apply(at::Tensor const& x) const override { return apply_stiffness(x, nu_, grid()); }
  at::Tensor diagonal() const override { return stiffness_diagonal(nu_, grid()); }

  // K and D are sums over voxels of nu times a constant matrix and its diagonal, so Rayleigh's
  // quotient of D^-1 K never exceeds the voxel's own.
  at::Tensor top() const override {
    HaarSpectrum const spectrum = haar_spectrum(grid());
    double const largest = *std::max_element(spectrum.lambda, spectrum.lambda + 8);
    constexpr double norm = 8.0;  // squared length of a Haar vector
    return at::full({1}, largest * norm / element_diagonal(grid()),
                    nu_.options().dtype(at::kDouble));
  }

  bool top_is_bound() const override { return true; }

  std::unique_ptr<StencilSource> entries() const override { return voxel_stencil(grid(), nu_); }

  Coarsening coarsened(CoarseOperator kind, Boundary const& boundary) const override {
    auto const whole = averaged_grid(space().slab().whole, boundary, finest_);
    if (kind == CoarseOperator::black_box || !whole) return coarsen_black_box(*this, boundary);
    Space const coarse = space().coarsened(*whole);
    Grid3 const grid = coarse.slab().part();
    return {std::make_unique<VoxelOperator>(coarse, average_voxels(nu_, grid), false),
            trilinear_transfer(grid)};
  }
  std::unique_ptr<LevelOperator> on(Space const& other) const override {
    return std::make_unique<VoxelOperator>(other, space().voxels_on(other, nu_), finest_);
  }

 private:
  at::Tensor nu_;
  bool finest_;
};

}  // namespace

PointAxes regular_axes(Grid3 const& grid) {
  PointAxes axes;
  for (int axis = 0; axis < 3; ++axis) axes[axis] = {grid.nodes(axis), grid.spacing(axis), 1.0};
  return axes;
}

at::Tensor noise_like(at::Tensor const& field, std::int64_t first) {
  at::Tensor noise = at::empty(field.sizes(), field.options());
  if (noise.is_cuda()) {
    on_gpu::fill_noise(noise, first);
    return noise;
  }
  AT_DISPATCH_FLOATING_TYPES(noise.scalar_type(), "noise", [&] {
    NoiseJob<scalar_t> const job{static_cast<std::uint32_t>(noise[0].numel()),
                                 static_cast<std::uint32_t>(first),
                                 noise.mutable_data_ptr<scalar_t>()};
    parallel_for(noise.numel(), 4, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) job(i);
    });
  });
  return noise;
}

std::unique_ptr<LevelOperator> make_voxel_operator(Space const& space, at::Tensor const& nu) {
  Grid3 const grid = space.slab().part();
  at::IntArrayRef const voxels(grid.voxels.data(), 3);
  VOXCYCLE_REQUIRE(nu.dim() == 5 && nu.size(1) == 1 && nu.sizes().slice(2) == voxels,
                   "nu has shape " << nu.sizes() << ", expected [B, 1, " << grid.name() << "].");
  VOXCYCLE_REQUIRE(nu.is_contiguous(), "nu is not contiguous. Call contiguous() first.");
  return std::make_unique<VoxelOperator>(space, nu, true);
}

}  // namespace voxcycle
