// SPDX-License-Identifier: BSD-3-Clause
#include "level_operator.hpp"

#include "voxcycle/core/random.hpp"
#include "voxcycle/poisson/energy.hpp"

#include <algorithm>

#include "element_matrix.hpp"
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

  Coarsening coarsened(CoarseOperator kind) const override {
    if (kind == CoarseOperator::black_box) {
      return coarsen_black_box(*voxel_stencil(grid(), nu_));
    }
    return {make_voxel_operator(grid().coarsened(), average_voxels(nu_, grid())),
            trilinear_transfer(grid())};
  }

 private:
  at::Tensor nu_;
};

}  // namespace

at::Tensor noise_like(at::Tensor const& field) {
  auto sizes = field.sizes().vec();
  sizes[0] = 1;
  at::Tensor noise = at::empty(sizes, field.options().device(at::kCPU));
  AT_DISPATCH_FLOATING_TYPES(noise.scalar_type(), "noise_like", [&] {
    auto* const values = noise.mutable_data_ptr<scalar_t>();
    for (std::int64_t i = 0; i < noise.numel(); ++i) {
      values[i] = static_cast<scalar_t>(hash_uniform({static_cast<std::uint64_t>(i)}) - 0.5);
    }
  });
  return noise.to(field.device(), /*non_blocking=*/true).expand_as(field).contiguous();
}

std::unique_ptr<LevelOperator> make_voxel_operator(Grid3 const& grid, at::Tensor const& nu) {
  return std::make_unique<VoxelOperator>(grid, nu);
}

}  // namespace voxcycle
