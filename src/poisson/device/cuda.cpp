// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"

#include <limits>

#include "poisson/device.hpp"
#include "poisson/element_matrix.hpp"
#include "poisson/launch.hpp"
#include "poisson/node_points.hpp"
#include <ATen/ATen.h>
#include <ATen/DeviceGuard.h>

namespace voxcycle::on_gpu {
namespace {

int as_int(std::int64_t value) {
  VOXCYCLE_REQUIRE(value <= std::numeric_limits<int>::max() / 2,
                   "a grid or batch of " << value << " along one axis is too large for a GPU.");
  return static_cast<int>(value);
}

template <class T>
EnergyJob<T> energy_job(at::Tensor const& u, at::Tensor const& nu, Grid3 const& grid,
                        at::Tensor const& gradient) {
  EnergyJob<T> job{};
  job.u = u.const_data_ptr<T>();
  job.nu = nu.const_data_ptr<T>();
  job.gradient = gradient.mutable_data_ptr<T>();
  job.batch = as_int(u.size(0));
  job.nx = as_int(grid.voxels[0]);
  job.ny = as_int(grid.voxels[1]);
  job.nz = as_int(grid.voxels[2]);
  VOXCYCLE_REQUIRE(
      static_cast<std::uint64_t>(job.node_plane()) * sizeof(T) <=
          std::numeric_limits<std::uint32_t>::max(),
      "a plane of " << job.ny + 1 << " x " << job.nz + 1 << " nodes is too large for a GPU.");
  job.weights = EnergyWeights<T>(haar_spectrum(grid));
  return job;
}

}  // namespace

EnergyAndGradient energy_and_gradient(at::Tensor const& u, at::Tensor const& nu, Grid3 const& grid,
                                      std::optional<at::Tensor> const& b) {
  c10::DeviceGuard const guard(u.device());
  auto const wide = u.options().dtype(at::kDouble);
  EnergyAndGradient result{at::empty({u.size(0)}, wide), at::empty_like(u)};
  AT_DISPATCH_FLOATING_TYPES(u.scalar_type(), "energy_and_gradient", [&] {
    auto job = energy_job<scalar_t>(u, nu, grid, result.gradient);
    if (b) {
      job.b = b->const_data_ptr<scalar_t>();
      job.load_stride = b->size(0) == 1 ? 0 : grid.node_count();
    }
    int const tiles = EnergyTiles(job.nx, job.ny, job.nz).per_sample();
    at::Tensor const partial = at::empty({job.batch, tiles}, wide);
    job.partial = partial.mutable_data_ptr<double>();
    launch_energy(current_queue(u.device().index()), job, result.energy.mutable_data_ptr<double>());
  });
  return result;
}

at::Tensor apply_stiffness(at::Tensor const& u, at::Tensor const& nu, Grid3 const& grid) {
  c10::DeviceGuard const guard(u.device());
  at::Tensor k_u = at::empty_like(u);
  AT_DISPATCH_FLOATING_TYPES(u.scalar_type(), "apply_stiffness", [&] {
    auto job = energy_job<scalar_t>(u, nu, grid, k_u);
    int const tiles = EnergyTiles(job.nx, job.ny, job.nz).per_sample();
    at::Tensor const partial = at::empty({job.batch, tiles}, u.options().dtype(at::kDouble));
    job.partial = partial.mutable_data_ptr<double>();
    launch_energy(current_queue(u.device().index()), job, nullptr);
  });
  return k_u;
}

at::Tensor sum_at_nodes(at::Tensor const& voxels, Grid3 const& grid, double scale) {
  c10::DeviceGuard const guard(voxels.device());
  at::Tensor nodes =
      at::empty({voxels.size(0), 1, grid.nodes(0), grid.nodes(1), grid.nodes(2)}, voxels.options());
  AT_DISPATCH_FLOATING_TYPES(voxels.scalar_type(), "sum_at_nodes", [&] {
    launch_elements(
        "node sums", current_queue(voxels.device().index()), nodes.numel(),
        NodeSumJob<scalar_t>{voxels.const_data_ptr<scalar_t>(), nodes.mutable_data_ptr<scalar_t>(),
                             grid.voxels[0], grid.voxels[1], grid.voxels[2],
                             static_cast<scalar_t>(scale)});
  });
  return nodes;
}

void chebyshev_step(double keep, double take, at::Tensor const& inverse, at::Tensor const& b,
                    at::Tensor const& k_x, at::Tensor const& d, at::Tensor const& x) {
  c10::DeviceGuard const guard(x.device());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "chebyshev", [&] {
    launch_elements(
        "Chebyshev step", current_queue(x.device().index()), x.numel(),
        ChebyshevJob<scalar_t>{static_cast<scalar_t>(keep), static_cast<scalar_t>(take),
                               inverse.const_data_ptr<scalar_t>(), b.const_data_ptr<scalar_t>(),
                               k_x.const_data_ptr<scalar_t>(), d.mutable_data_ptr<scalar_t>(),
                               x.mutable_data_ptr<scalar_t>()});
  });
}

void divide(at::Tensor const& inverse, at::Tensor const& x) {
  c10::DeviceGuard const guard(x.device());
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "divide", [&] {
    launch_elements(
        "division by the diagonal", current_queue(x.device().index()), x.numel(),
        DivideJob<scalar_t>{inverse.const_data_ptr<scalar_t>(), x.mutable_data_ptr<scalar_t>()});
  });
}

}  // namespace voxcycle::on_gpu
