// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/fast_poisson.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/poisson/parallel.hpp"

#include <algorithm>
#include <array>

#include "solver/axis_modes.hpp"
#include "solver/fftw_plan.hpp"
#include "solver/field_sums.hpp"
#include "solver/periodic_field.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
struct FastPoisson::Impl {
  explicit Impl(Problem const& problem)
      : grid(problem.opposite == OppositeFaces::one ? problem.unknowns() : problem.grid),
        floating(!problem.boundary.has_dirichlet()) {
    require_valid(problem.grid);
    for (int axis = 0; axis < 3; ++axis) {
      VOXCYCLE_REQUIRE(problem.grid.voxels[axis] < (1 << 15),
                       "grid " << problem.grid.name()
                               << " is too long for this solver. Use fewer than " << (1 << 15)
                               << " voxels per axis.");
      axes[axis] = axis_modes(problem, axis);
    }
    if (axes[0].count * axes[1].count * axes[2].count == 0) {
      return;
    }
    int const plane = axes[1].count * axes[2].count;
    auto plan = [](AxisModes const& axis, int stride, int many, int distance) {
      return std::array{FftwPlan(axis.forward, axis.count, stride, many, distance),
                        FftwPlan(axis.inverse, axis.count, stride, many, distance)};
    };
    along_x = plan(axes[0], plane, axes[2].count, 1);
    along_y = plan(axes[1], axes[2].count, axes[2].count, 1);
    along_z = plan(axes[2], 1, axes[1].count, axes[2].count);
  }

  // Free nodes of the x-plane of r, divided by their weights, into modes along y and z.
  void gather_plane(double const* r, int x, double* modes) const {
    for (int y = 0; y < axes[1].count; ++y) {
      double const weight = axes[0].inverse_weight(x) * axes[1].inverse_weight(y);
      double const* const row = r + node(x, y);
      double* const out = modes + y * axes[2].count;
      for (int z = 0; z < axes[2].count; ++z) {
        out[z] = row[z] * (weight * axes[2].inverse_weight(z));
      }
    }
    along_z[0].run(modes);
    along_y[0].run(modes);
  }

  void scatter_plane(double* modes, int x, double* out) const {
    along_y[1].run(modes);
    along_z[1].run(modes);
    for (int y = 0; y < axes[1].count; ++y) {
      double const* const row = modes + y * axes[2].count;
      std::copy(row, row + axes[2].count, out + node(x, y));
    }
  }

  // Modes along x, division by the eigenvalues, and back, for all x and z of one y.
  void divide_modes(double* modes, int y) const {
    auto const& [ax, ay, az] = axes;
    double const scale = ax.scale * ay.scale * az.scale;
    along_x[0].run(modes);
    for (int x = 0; x < ax.count; ++x) {
      double* const row = modes + static_cast<std::int64_t>(x) * ay.count * az.count;
      double const k_xy = ax.k[x] * ay.m[y] + ax.m[x] * ay.k[y];
      double const m_xy = ax.m[x] * ay.m[y];
      for (int z = 0; z < az.count; ++z) {
        double const eigenvalue = k_xy * az.m[z] + m_xy * az.k[z];
        row[z] = eigenvalue > 0.0 ? row[z] * (scale / eigenvalue) : 0.0;
      }
    }
    along_x[1].run(modes);
  }

  std::int64_t node(int x, int y) const {
    return ((axes[0].first + x) * grid.nodes(1) + axes[1].first + y) * grid.nodes(2) +
           axes[2].first;
  }

  Grid3 grid;  ///< whose nodes the fields live on
  bool floating;
  std::array<AxisModes, 3> axes;
  std::array<FftwPlan, 2> along_x, along_y, along_z;  // forward, inverse
};

FastPoisson::FastPoisson(Problem const& problem) : impl_(std::make_unique<Impl>(problem)) {}
FastPoisson::~FastPoisson() = default;
FastPoisson::FastPoisson(FastPoisson&&) noexcept = default;
FastPoisson& FastPoisson::operator=(FastPoisson&&) noexcept = default;

at::Tensor FastPoisson::solve(at::Tensor const& r) const {
  at::NoGradGuard const no_grad;
  Grid3 const& grid = impl_->grid;
  auto const shape = grid.node_shape();
  VOXCYCLE_REQUIRE(r.sizes() == at::IntArrayRef(shape) && r.scalar_type() == at::kDouble,
                   "right-hand side has shape " << r.sizes() << " and type " << r.scalar_type()
                                                << ", expected " << at::IntArrayRef(shape)
                                                << " in float64.");
  at::Tensor z = at::zeros_like(r, at::MemoryFormat::Contiguous);
  auto const& [ax, ay, az] = impl_->axes;
  std::int64_t const plane = static_cast<std::int64_t>(ay.count) * az.count;
  if (ax.count * plane == 0) {
    return z;  // every node is on a Dirichlet face
  }
  at::Tensor load = r.contiguous();
  if (impl_->floating) {
    load = load.clone();
    remove_mean(load);
  }
  // Each x-plane along z and y, each y-plane along x and back, each x-plane back: a plan always
  // runs on one thread (not FFTW's own ones, which plan by their number), so the bits do not
  // depend on how many share the planes.
  at::Tensor modes = at::empty({ax.count * plane}, r.options());
  auto* const values = modes.mutable_data_ptr<double>();
  auto const* const in = load.const_data_ptr<double>();
  auto* const out = z.mutable_data_ptr<double>();
  parallel_for(ax.count, 8 * plane, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t x = begin; x < end; ++x) {
      impl_->gather_plane(in, static_cast<int>(x), values + x * plane);
    }
  });
  parallel_for(ay.count, 16 * ax.count * az.count,
               [&, width = az.count](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t y = begin; y < end; ++y) {
                   impl_->divide_modes(values + y * width, static_cast<int>(y));
                 }
               });
  parallel_for(ax.count, 8 * plane, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t x = begin; x < end; ++x) {
      impl_->scatter_plane(values + x * plane, static_cast<int>(x), out);
    }
  });
  if (impl_->floating) {
    remove_mean(z);
  }
  return z;
}

Preconditioner fft_preconditioner(Problem const& problem, at::Tensor const& nu,
                                  FastPoisson const& fast) {
  at::NoGradGuard const no_grad;
  VOXCYCLE_REQUIRE(nu.min().item<double>() > 0.0,
                   "nu is not positive in every voxel, and the solver fft needs an equation on "
                   "every node. Take the solver multigrid.");
  // Nodal mean of nu, as a quotient of two loads.
  at::Tensor nodal = load_of_source(nu.contiguous(), problem.grid);
  at::Tensor weights = load_of_source(1.0, problem.grid);
  if (problem.opposite == OppositeFaces::one) {
    nodal = folded(nodal);
    weights = folded(weights);
  }
  at::Tensor const scale = nodal.div_(weights).rsqrt_();
  return [&fast, scale](at::Tensor const& r) { return fast.solve(r.mul(scale)).mul_(scale); };
}

SolveResult solve_fft_pcg(Problem const& problem, at::Tensor const& nu, FastPoisson const& fast,
                          SolveOptions const& options, std::optional<at::Tensor> const& b,
                          std::optional<at::Tensor> const& start) {
  return solve_pcg(problem, nu, fft_preconditioner(problem, nu, fast), options, b, start);
}

}  // namespace voxcycle
