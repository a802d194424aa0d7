// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/operator/level_operator.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/poisson/parallel.hpp"

#include <algorithm>

#include "poisson/operator/device.hpp"
#include "poisson/operator/element_matrix.hpp"
#include "poisson/operator/node_points.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

class VoxelOperator : public LevelOperator {
 public:
  VoxelOperator(Grid3 const& grid, at::Tensor const& nu) : LevelOperator(grid), nu_(nu) {}

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

  Coarsening coarsened(CoarseOperator kind) const override {
    if (kind == CoarseOperator::black_box) return coarsen_black_box(*entries());
    return {make_voxel_operator(grid().coarsened(), average_voxels(nu_, grid())),
            trilinear_transfer(grid())};
  }

 private:
  at::Tensor nu_;
};

}  // namespace

at::Tensor noise_like(at::Tensor const& field) {
  at::Tensor noise = at::empty(field.sizes(), field.options());
  if (noise.is_cuda()) {
    on_gpu::fill_noise(noise);
    return noise;
  }
  AT_DISPATCH_FLOATING_TYPES(noise.scalar_type(), "noise", [&] {
    NoiseJob<scalar_t> const job{static_cast<std::uint32_t>(noise[0].numel()),
                                 noise.mutable_data_ptr<scalar_t>()};
    parallel_for(noise.numel(), 4, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) job(i);
    });
  });
  return noise;
}

std::unique_ptr<LevelOperator> make_voxel_operator(Grid3 const& grid, at::Tensor const& nu) {
  at::IntArrayRef const voxels(grid.voxels.data(), 3);
  VOXCYCLE_REQUIRE(nu.dim() == 5 && nu.size(1) == 1 && nu.sizes().slice(2) == voxels,
                   "nu has shape " << nu.sizes() << ", expected [B, 1, " << grid.name() << "].");
  VOXCYCLE_REQUIRE(nu.is_contiguous(), "nu is not contiguous. Call contiguous() first.");
  return std::make_unique<VoxelOperator>(grid, nu);
}

}  // namespace voxcycle
