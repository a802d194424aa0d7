// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/energy.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/parallel.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "poisson/operator/device.hpp"
#include "poisson/operator/element_matrix.hpp"
#include "poisson/operator/energy_rows.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// @param like  has the dtype and the device that the field must have
void require_field(char const* name, at::Tensor const& field,
                   std::array<std::int64_t, 5> const& shape, at::Tensor const& like) {
  at::ScalarType const dtype = like.scalar_type();
  VOXCYCLE_REQUIRE(field.defined(), name << " is empty. Pass a tensor.");
  VOXCYCLE_REQUIRE(field.sizes() == at::IntArrayRef(shape),
                   name << " has shape " << field.sizes() << ", expected " << at::IntArrayRef(shape)
                        << ". Voxel fields are [B, 1, nx, ny, nz], nodal fields have one more an "
                           "axis.");
  VOXCYCLE_REQUIRE(field.scalar_type() == dtype && (dtype == at::kFloat || dtype == at::kDouble),
                   name << " is of type " << field.scalar_type()
                        << ". All fields must share one type, float32 or float64.");
  VOXCYCLE_REQUIRE(field.is_cpu() || field.is_cuda() || field.is_meta(),
                   name << " is on " << field.device()
                        << " (there are kernels for CPUs and NVIDIA GPUs). Copy it to one.");
  VOXCYCLE_REQUIRE(field.device() == like.device(), name << " is on " << field.device()
                                                         << ", other fields are on "
                                                         << like.device() << ". Copy it there.");
  VOXCYCLE_REQUIRE(field.is_contiguous(), name << " is not contiguous. Call contiguous() first.");
}

// Voxel planes a slab: about sixteen slabs or more, so that eight threads have work, but never so
// thick that the count of slabs stays small on large grids. A function of the grid alone.
std::int64_t slab_thickness(std::int64_t nx) {
  return std::clamp<std::int64_t>(nx / 16, 1, 8);
}

template <class T>
struct AlignedDelete {
  void operator()(T* pointer) const { ::operator delete[](pointer, std::align_val_t{64}); }
};

template <class T>
auto make_scratch(std::int64_t nz) {
  auto const bytes = static_cast<std::size_t>(energy_scratch_size(nz)) * sizeof(T);
  return std::unique_ptr<T, AlignedDelete<T>>(
      static_cast<T*>(::operator new[](bytes, std::align_val_t{64})));
}

// Writes K u and u^T K u of each voxel plane, [batch, nx].
template <class T>
void sweep_slabs(T const* u, T const* nu, T* gradient, double* energies, std::int64_t batch,
                 Grid3 const& grid) {
  std::int64_t const nx = grid.voxels[0], ny = grid.voxels[1], nz = grid.voxels[2];
  std::int64_t const thickness = slab_thickness(nx);
  std::int64_t const slabs = (nx + thickness - 1) / thickness;
  std::int64_t const node_plane = grid.nodes(1) * grid.nodes(2);
  HaarSpectrum const spectrum = haar_spectrum(grid);
  energy_rows::Table const& kernel = energy_rows::table();

  // Even slabs set every node plane they touch; odd ones then set their inner planes and add to the
  // two they share. No plane is cleared first, and no two threads ever write one plane.
  for (std::int64_t colour = 0; colour < 2; ++colour) {
    std::int64_t const count = (slabs + 1 - colour) / 2;
    parallel_for(batch * count, thickness * ny * nz, [&](std::int64_t begin, std::int64_t end) {
      auto const scratch = make_scratch<T>(nz);
      for (std::int64_t i = begin; i < end; ++i) {
        std::int64_t const sample = i / count;
        std::int64_t const slab = 2 * (i % count) + colour;
        std::int64_t const first = slab * thickness;
        std::int64_t const last = std::min(nx, first + thickness);
        std::int64_t const node_offset = sample * grid.node_count() + first * node_plane;
        kernel.sweep(SlabJob<T>{u + node_offset, nu + sample * grid.voxel_count() + first * ny * nz,
                                gradient + node_offset, last - first, ny, nz,
                                /*add_first=*/colour == 1, /*add_last=*/colour == 1 && last < nx,
                                spectrum, scratch.get(), energies + sample * nx + first});
      }
    });
  }
}

// out_i = scale * sum of c over the voxels at node i.
template <class T>
void sum_at_nodes(T const* c, T* out, std::int64_t batch, Grid3 const& grid, double scale) {
  std::int64_t const nx = grid.voxels[0], ny = grid.voxels[1], nz = grid.voxels[2];
  std::int64_t const rows = grid.nodes(0) * grid.nodes(1);
  parallel_for(batch * rows, 8 * nz, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t const sample = i / rows, x = i % rows / (ny + 1), y = i % (ny + 1);
      T* const row = out + i * (nz + 1);
      std::fill(row, row + nz + 1, T(0));
      for (std::int64_t xv = std::max<std::int64_t>(x - 1, 0); xv <= std::min(x, nx - 1); ++xv) {
        for (std::int64_t yv = std::max<std::int64_t>(y - 1, 0); yv <= std::min(y, ny - 1); ++yv) {
          T const* const voxels = c + ((sample * nx + xv) * ny + yv) * nz;
          for (std::int64_t k = 0; k < nz; ++k) {
            row[k] += voxels[k];
          }
          for (std::int64_t k = 0; k < nz; ++k) {
            row[k + 1] += voxels[k];
          }
        }
      }
      for (std::int64_t k = 0; k <= nz; ++k) {
        row[k] *= static_cast<T>(scale);
      }
    }
  });
}

at::Tensor sum_at_nodes(char const* name, at::Tensor const& voxels, Grid3 const& grid,
                        double scale) {
  require_valid(grid);
  std::int64_t const batch = voxels.dim() > 0 ? voxels.size(0) : 0;
  require_field(name, voxels, grid.voxel_shape(batch), voxels);
  if (voxels.is_cuda()) return on_gpu::sum_at_nodes(voxels, grid, scale);
  at::Tensor out = at::empty(grid.node_shape(batch), voxels.options());
  AT_DISPATCH_FLOATING_TYPES(voxels.scalar_type(), "sum_at_nodes", [&] {
    sum_at_nodes(voxels.const_data_ptr<scalar_t>(), out.mutable_data_ptr<scalar_t>(), batch, grid,
                 scale);
  });
  return out;
}

// Subtracts the load: gradient -= b, and b^T u of each node plane from energies, [planes].
template <class T>
void subtract_load(T const* b, T const* u, T* gradient, double* energies, std::int64_t planes,
                   std::int64_t length) {
  parallel_for(planes, length, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      std::int64_t const first = plane * length;
      for (std::int64_t i = first; i < first + length; ++i) {
        gradient[i] -= b[i];
      }
      energies[plane] -= lane_dot(b + first, u + first, length);
    }
  });
}

std::int64_t require_operands(at::Tensor const& u, at::Tensor const& nu, Grid3 const& grid) {
  require_valid(grid);
  std::int64_t const batch = u.dim() > 0 ? u.size(0) : 0;
  require_field("u", u, grid.node_shape(batch), u);
  require_field("nu", nu, grid.voxel_shape(batch), u);
  return batch;
}

// Of each node plane of a part, [batch, planes]: 1/2 u^T K u of the voxel plane behind it, less
// b^T u. Writes K u - b as well.
at::Tensor energies_of_planes(at::Tensor const& u, at::Tensor const& nu, Grid3 const& grid,
                              std::optional<at::Tensor> const& b, at::Tensor const& gradient) {
  std::int64_t const batch = u.size(0), planes = grid.nodes(0), nodes = grid.node_count();
  at::Tensor quadratic = at::empty({batch, grid.voxels[0]}, at::kDouble);
  at::Tensor energies;
  AT_DISPATCH_FLOATING_TYPES(u.scalar_type(), "energy_and_gradient", [&] {
    auto const* const values = u.const_data_ptr<scalar_t>();
    auto* const k_u = gradient.mutable_data_ptr<scalar_t>();
    sweep_slabs(values, nu.const_data_ptr<scalar_t>(), k_u, quadratic.mutable_data_ptr<double>(),
                batch, grid);
    energies = at::constant_pad_nd(quadratic.mul_(0.5), {0, 1});
    for (std::int64_t sample = 0; b && sample < batch; ++sample) {
      std::int64_t const load = b->size(0) == 1 ? 0 : sample;
      subtract_load(b->const_data_ptr<scalar_t>() + load * nodes, values + sample * nodes,
                    k_u + sample * nodes, energies.mutable_data_ptr<double>() + sample * planes,
                    planes, nodes / planes);
    }
  });
  return energies;
}

// The energy of a part's own voxels and of the load on its own nodes.
at::Tensor own_energy_on_gpu(Space const& space, at::Tensor const& u, at::Tensor const& nu,
                             std::optional<at::Tensor> const& b) {
  Grid3 const grid = space.with_halo(0).slab().part();
  Planes const own = space.slab().own_voxels();
  at::Tensor const own_u = u.narrow(2, own.begin, own.count + 1).contiguous();
  at::Tensor const energy =
      on_gpu::energy_and_gradient(own_u, space.own_voxels(nu).contiguous(), grid, {}).energy;
  if (!b) return energy;
  at::Tensor const work = space.own_nodes(u) * space.own_nodes(*b);
  return energy - work.flatten(1).sum(1, /*keepdim=*/false, at::kDouble);
}

}  // namespace

EnergyAndGradient energy_and_gradient(at::Tensor const& u, at::Tensor const& nu, Space const& space,
                                      std::optional<at::Tensor> const& b) {
  Grid3 const grid = space.slab().part();
  std::int64_t const batch = require_operands(u, nu, grid);
  if (b) {
    std::int64_t const loads = b->dim() > 0 && b->size(0) == 1 ? 1 : batch;
    require_field("b", *b, grid.node_shape(loads), u);
  }
  EnergyAndGradient result;
  if (u.is_cuda()) {
    result = on_gpu::energy_and_gradient(u, nu, grid, b);
    if (!space.is_whole()) result.energy = space.sum_of_parts(own_energy_on_gpu(space, u, nu, b));
  } else if (u.is_meta()) {
    auto const options = u.options().dtype(at::kDouble);
    std::int64_t const planes = space.slab().own_nodes().count;
    result = {space.sum_of_planes(at::empty({batch, planes}, options)), at::empty_like(u)};
  } else {
    result.gradient = at::empty_like(u);
    at::Tensor const energies = energies_of_planes(u, nu, grid, b, result.gradient);
    Planes const own = space.slab().own_nodes();
    result.energy = space.sum_of_planes(energies.narrow(1, own.begin, own.count));
  }
  space.refresh_nodes(result.gradient);
  return result;
}

at::Tensor apply_stiffness(at::Tensor const& u, at::Tensor const& nu, Grid3 const& grid) {
  std::int64_t const batch = require_operands(u, nu, grid);
  if (u.is_cuda()) return on_gpu::apply_stiffness(u, nu, grid);
  at::Tensor k_u = at::empty_like(u);
  if (u.is_meta()) return k_u;
  std::vector<double> energies(batch * grid.voxels[0]);
  AT_DISPATCH_FLOATING_TYPES(u.scalar_type(), "apply_stiffness", [&] {
    sweep_slabs(u.const_data_ptr<scalar_t>(), nu.const_data_ptr<scalar_t>(),
                k_u.mutable_data_ptr<scalar_t>(), energies.data(), batch, grid);
  });
  return k_u;
}

at::Tensor stiffness_diagonal(at::Tensor const& nu, Grid3 const& grid) {
  return sum_at_nodes("nu", nu, grid, element_diagonal(grid));
}

at::Tensor load_of_source(at::Tensor const& f, Space const& space) {
  Grid3 const grid = space.slab().part();
  double const of_voxel = grid.spacing(0) * grid.spacing(1) * grid.spacing(2) / 8.0;
  at::Tensor load = sum_at_nodes("f", f, grid, of_voxel);
  space.refresh_nodes(load);
  return load;
}

at::Tensor load_of_source(double f, Space const& space) {
  Grid3 const grid = space.slab().part();
  require_valid(grid);
  return load_of_source(at::full(grid.voxel_shape(1), f, at::kDouble), space);
}

}  // namespace voxcycle
