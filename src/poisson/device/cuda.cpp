// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <limits>

#include "poisson/operator/device.hpp"
#include "poisson/operator/element_jobs.hpp"
#include "poisson/operator/element_matrix.hpp"
#include "poisson/operator/launch.hpp"
#include "poisson/operator/stencil_entries.hpp"
#include <ATen/ATen.h>

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

/// job(i) for all i < count on the GPU of `where`.
template <class Job>
void run(char const* name, at::Tensor const& where, std::int64_t count, Job const& job) {
  VOXCYCLE_REQUIRE(count <= std::numeric_limits<std::uint32_t>::max(),
                   name << ": " << count << " elements are too many for a GPU.");
  for_elements(name, where.device().index(), count, job);
}

/// Of the last three axes.
FieldSize size_of(at::Tensor const& field) {
  return {as_int(field.size(-3)), as_int(field.size(-2)), as_int(field.size(-1))};
}

FieldSize node_size(Grid3 const& grid) {
  return {as_int(grid.nodes(0)), as_int(grid.nodes(1)), as_int(grid.nodes(2))};
}

at::Tensor empty_fields(at::Tensor const& like, FieldSize const& size) {
  return at::empty({like.size(0), 1, size.x, size.y, size.z}, like.options());
}

}  // namespace

EnergyAndGradient energy_and_gradient(at::Tensor const& u, at::Tensor const& nu, Grid3 const& grid,
                                      std::optional<at::Tensor> const& b) {
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

at::Tensor sample_dots(at::Tensor const& a, at::Tensor const& b) {
  auto const wide = a.options().dtype(at::kDouble);
  at::Tensor dots = at::empty({a.size(0)}, wide);
  AT_DISPATCH_FLOATING_TYPES(a.scalar_type(), "sample_dots", [&] {
    DotJob<scalar_t> job{a.const_data_ptr<scalar_t>(), b.const_data_ptr<scalar_t>(), nullptr,
                         a.numel() / std::max<std::int64_t>(1, a.size(0))};
    at::Tensor const partial = job.chunks() > 1 ? at::empty({a.size(0), job.chunks()}, wide) : dots;
    job.partial = partial.mutable_data_ptr<double>();
    launch_dots(current_queue(a.device().index()), job, a.size(0), dots.mutable_data_ptr<double>());
  });
  return dots;
}

at::Tensor sum_at_nodes(at::Tensor const& voxels, Grid3 const& grid, double scale) {
  FieldSize const nodes = node_size(grid);
  at::Tensor out = empty_fields(voxels, nodes);
  AT_DISPATCH_FLOATING_TYPES(voxels.scalar_type(), "sum_at_nodes", [&] {
    run("node sums", out, out.numel(),
        NodeSumJob<scalar_t>{voxels.const_data_ptr<scalar_t>(), out.mutable_data_ptr<scalar_t>(),
                             nodes, static_cast<scalar_t>(scale)});
  });
  return out;
}

void chebyshev_step(double keep, double take, at::Tensor const& weights, at::Tensor const& b,
                    at::Tensor const& k_x, at::Tensor const& d, at::Tensor const& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "chebyshev", [&] {
    run("Chebyshev step", x, x.numel(),
        ChebyshevJob<scalar_t>{static_cast<scalar_t>(keep), static_cast<scalar_t>(take),
                               weights.const_data_ptr<scalar_t>(), b.const_data_ptr<scalar_t>(),
                               k_x.const_data_ptr<scalar_t>(), d.mutable_data_ptr<scalar_t>(),
                               x.mutable_data_ptr<scalar_t>()});
  });
}

void lanczos_step(LanczosSums const& sums, at::Tensor const& scale, at::Tensor const& k_x,
                  at::Tensor const& y, at::Tensor const& other, at::Tensor const& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "lanczos", [&] {
    run("Lanczos step", x, x.numel(),
        LanczosJob<scalar_t>{static_cast<std::uint32_t>(x[0].numel()),
                             sums.x_k_x.const_data_ptr<double>(), sums.y_y.const_data_ptr<double>(),
                             sums.y_y_before.const_data_ptr<double>(),
                             scale.const_data_ptr<scalar_t>(), k_x.const_data_ptr<scalar_t>(),
                             y.const_data_ptr<scalar_t>(), other.mutable_data_ptr<scalar_t>(),
                             x.mutable_data_ptr<scalar_t>()});
  });
}

void fill_noise(at::Tensor const& x, std::int64_t first) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "noise", [&] {
    run("noise", x, x.numel(),
        NoiseJob<scalar_t>{static_cast<std::uint32_t>(x[0].numel()),
                           static_cast<std::uint32_t>(first), x.mutable_data_ptr<scalar_t>()});
  });
}

void divide(at::Tensor const& weights, at::Tensor const& x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "divide", [&] {
    run("division by the diagonal", x, x.numel(),
        DivideJob<scalar_t>{weights.const_data_ptr<scalar_t>(), x.mutable_data_ptr<scalar_t>()});
  });
}

at::Tensor restrict_nodes(at::Tensor const& r, Grid3 const& to) {
  FieldSize const coarse = node_size(to);
  at::Tensor out = empty_fields(r, coarse);
  AT_DISPATCH_FLOATING_TYPES(r.scalar_type(), "restrict_nodes", [&] {
    run("restriction", out, out.numel(),
        RestrictJob<scalar_t>{r.const_data_ptr<scalar_t>(), out.mutable_data_ptr<scalar_t>(),
                              size_of(r), coarse});
  });
  return out;
}

void add_prolonged(at::Tensor& x, at::Tensor const& e) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "add_prolonged", [&] {
    run("prolongation", x, x.numel(),
        ProlongJob<scalar_t>{e.const_data_ptr<scalar_t>(), x.mutable_data_ptr<scalar_t>(),
                             size_of(x), size_of(e)});
  });
}

at::Tensor average_voxels(at::Tensor const& nu, Grid3 const& to) {
  FieldSize const fine = size_of(nu);
  FieldSize const coarse{as_int(to.voxels[0]), as_int(to.voxels[1]), as_int(to.voxels[2])};
  at::Tensor out = empty_fields(nu, coarse);
  AT_DISPATCH_FLOATING_TYPES(nu.scalar_type(), "average_voxels", [&] {
    run("average of voxels", out, out.numel(),
        AverageJob<scalar_t>{nu.const_data_ptr<scalar_t>(), out.mutable_data_ptr<scalar_t>(), fine,
                             coarse});
  });
  return out;
}

at::Tensor restrict_by_weights(at::Tensor const& weights, at::Tensor const& r) {
  FieldSize const coarse = size_of(weights);
  at::Tensor out = empty_fields(r, coarse);
  AT_DISPATCH_FLOATING_TYPES(r.scalar_type(), "restrict_by_weights", [&] {
    run("restriction", out, out.numel(),
        WeightedRestrictJob<scalar_t>{weights.const_data_ptr<scalar_t>(),
                                      r.const_data_ptr<scalar_t>(),
                                      out.mutable_data_ptr<scalar_t>(), size_of(r), coarse});
  });
  return out;
}

void add_prolonged_by_weights(at::Tensor const& weights, at::Tensor& x, at::Tensor const& e) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "add_prolonged_by_weights", [&] {
    run("prolongation", x, x.numel(),
        WeightedProlongJob<scalar_t>{weights.const_data_ptr<scalar_t>(),
                                     e.const_data_ptr<scalar_t>(), x.mutable_data_ptr<scalar_t>(),
                                     size_of(x), size_of(e)});
  });
}

at::Tensor apply_couplings(at::Tensor const& couplings, at::Tensor const& x) {
  at::Tensor out = at::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "apply_couplings", [&] {
    run("stencil", out, out.numel(),
        ApplyCouplingsJob<scalar_t>{{couplings.const_data_ptr<scalar_t>(), size_of(x)},
                                    x.const_data_ptr<scalar_t>(),
                                    out.mutable_data_ptr<scalar_t>()});
  });
  return out;
}

at::Tensor coupling_diagonal(at::Tensor const& couplings) {
  at::Tensor out = empty_fields(couplings, size_of(couplings));
  AT_DISPATCH_FLOATING_TYPES(out.scalar_type(), "coupling_diagonal", [&] {
    run("diagonal", out, out.numel(),
        CouplingDiagonalJob<scalar_t>{{couplings.const_data_ptr<scalar_t>(), size_of(couplings)},
                                      out.mutable_data_ptr<scalar_t>()});
  });
  return out;
}

void black_box_weights(StencilSource const& fine, GridCoarsening const& coarsening,
                       at::Tensor& weights) {
  AT_DISPATCH_FLOATING_TYPES(weights.scalar_type(), "black_box_weights", [&] {
    with_entries<scalar_t>(fine, fine.values(), [&](auto const& entries) {
      black_box_weight_jobs(entries, fine.batch(), coarsening, weights.mutable_data_ptr<scalar_t>(),
                            [&](std::int64_t count, auto const& job) {
                              run("black box interpolation", weights, count, job);
                            });
    });
  });
}

void black_box_couplings(StencilSource const& fine, at::Tensor const& weights,
                         at::Tensor& couplings) {
  AT_DISPATCH_FLOATING_TYPES(couplings.scalar_type(), "black_box_couplings", [&] {
    with_entries<scalar_t>(fine, fine.values(), [&](auto const& entries) {
      using Entries = std::decay_t<decltype(entries)>;
      run("black box product", couplings, fine.batch() * size_of(couplings).count(),
          BlackBoxCouplingJob<scalar_t, Entries>{entries, weights.const_data_ptr<scalar_t>(),
                                                 couplings.mutable_data_ptr<scalar_t>(),
                                                 size_of(couplings)});
    });
  });
}

at::Tensor dense_matrices(StencilSource const& source) {
  at::Tensor const values = source.values();
  std::int64_t const n = source.grid().node_count();
  at::Tensor result = at::zeros({source.batch(), n, n}, values.options().dtype(at::kDouble));
  AT_DISPATCH_FLOATING_TYPES(values.scalar_type(), "dense_matrices", [&] {
    with_entries<scalar_t>(source, values, [&](auto const& entries) {
      using Entries = std::decay_t<decltype(entries)>;
      run("coarsest matrices", result, source.batch() * n,
          DenseRowJob<Entries>{entries, result.mutable_data_ptr<double>()});
    });
  });
  return result;
}

void invert(at::Tensor& matrices) {
  std::int64_t const n = matrices.size(1);
  VOXCYCLE_REQUIRE(n <= InverseShared::max_size, "a matrix of " << n << " rows is too large.");
  launch_inverse(current_queue(matrices.device().index()),
                 InverseJob{matrices.mutable_data_ptr<double>(), n}, matrices.size(0));
}

}  // namespace voxcycle::on_gpu
