// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/parallel.hpp"

#include <algorithm>
#include <cstdlib>

#include "poisson/multigrid/black_box.hpp"
#include "poisson/multigrid/coarsest_solver.hpp"
#include "poisson/multigrid/lanczos.hpp"
#include "poisson/operator/device.hpp"
#include "poisson/operator/level_operator.hpp"
#include "poisson/operator/row_loops.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

// On the fields of `bench reference`, 4^3 of 64^3 to 128^3 of 256^3, twelve steps from a random
// field end 0.0 to 5.7 % below the largest eigenvalue, so that with the allowance at most one per
// cent of the spectrum is beyond it. (Fifteen power iterations are up to a quarter below, where few
// nodes have the eigenvalue.)
// Gershgorin's circles would be rigorous, but are 1.3 (kl) to 100 times as large (two-phase 1e6, on
// 8^3 of 32^3) and make the smoother too weak: with them two-phase media of 1e4 and 1e6 took 15 and
// 17 iterations instead of 8 and 8, spheres of 1e4 and 1e6 took 25 and 58 instead of 18 and 36.
constexpr int lanczos_steps = 12;
constexpr double allowance = 1.05;

// Rows of small grids are short: several at a time need fewer calls of loops, and what a stretch
// reads and writes 26 times still fits the first-level cache.
constexpr std::int64_t stretch_nodes = 512;

at::Tensor in_rows_of_27(at::Tensor const& of_axes) {
  auto shape = of_axes.sizes().vec();
  shape[1] = coupling_count;
  at::Tensor all = at::zeros(shape, of_axes.options());
  for (int t = no_offset + 1; t < offset_count; ++t) {
    int const axis = coupling_slot(t, 3);
    if (axis < 0) continue;
    all.select(1, coupling_slot(t, coupling_count)).copy_(of_axes.select(1, axis));
  }
  return all;
}

class StencilOperator : public LevelOperator {
 public:
  StencilOperator(Space const& space, PointAxes const& axes, at::Tensor const& couplings)
      : LevelOperator(space, axes),
        seven_(couplings.size(1) != coupling_count),
        couplings_(couplings) {
    // Direct solvers and GPUs know rows of 27 entries only.
    bool const direct = grid().node_count() <= CoarsestSolver::node_limit;
    if (seven_ && (direct || couplings.is_cuda())) couplings_ = in_rows_of_27(couplings);
  }

  at::Tensor apply(at::Tensor const& x) const override {
    if (x.is_cuda()) return on_gpu::apply_couplings(couplings_, x);
    at::Tensor out = at::empty_like(x);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "stencil_apply", [&] {
      auto const& loops = row_loops::loops<scalar_t>();
      auto const* const u = x.const_data_ptr<scalar_t>();
      // (K u)_i = sum_j K_ij (u_j - u_i): constants are in the null space whatever the rounding.
      gather<scalar_t>(
          couplings_, out,
          [&](scalar_t* sum, scalar_t const* a, std::int64_t centre, std::int64_t other,
              std::int64_t count) { loops.couple(sum, a, u + other, u + centre, count); });
    });
    return out;
  }

  at::Tensor diagonal() const override {
    if (couplings_.is_cuda()) return on_gpu::coupling_diagonal(couplings_);
    at::Tensor out = at::empty(grid().node_shape(couplings_.size(0)), couplings_.options());
    AT_DISPATCH_FLOATING_TYPES(out.scalar_type(), "stencil_diagonal", [&] {
      gather<scalar_t>(
          couplings_, out,
          [](scalar_t* sum, scalar_t const* a, std::int64_t, std::int64_t, std::int64_t count) {
            for (std::int64_t k = 0; k < count; ++k) sum[k] -= a[k];
          });
      auto* const d = out.mutable_data_ptr<scalar_t>();
      parallel_for(out.numel(), 1, [&](std::int64_t begin, std::int64_t end) {
        std::replace(d + begin, d + end, scalar_t(0), scalar_t(1));
      });
    });
    return out;
  }

  // Of seven points by Gershgorin's circles, and there is hardly less to find.
  at::Tensor top() const override {
    if (seven_) return at::full({1}, 2.0, couplings_.options().dtype(at::kDouble));
    return allowance * lanczos_top(*this, lanczos_steps);
  }
  bool top_is_bound() const override { return seven_; }

  std::unique_ptr<StencilSource> entries() const override {
    return coupling_stencil(grid(), couplings_);
  }
  Coarsening coarsened(CoarseOperator, Boundary const& boundary) const override {
    return coarsen_black_box(*this, boundary);
  }
  std::unique_ptr<LevelOperator> on(Space const& other) const override {
    at::Tensor const couplings = space().nodes_on(other, couplings_);
    if (!other.slab().is_last()) {  // they leave the part
      at::Tensor const last = couplings.select(2, couplings.size(2) - 1);
      for (int t = no_offset + 1; t < offset_count; ++t) {
        int const slot = coupling_slot(t, static_cast<int>(couplings.size(1)));
        if (offset_of(t)[0] > 0 && slot >= 0) last.select(1, slot).zero_();
      }
    }
    return std::make_unique<StencilOperator>(other, axes(), couplings);
  }

 private:
  // Calls body(first of out, couplings, first node, the neighbour of that, how many) for each
  // stretch of nodes, some rows of one plane, and each of their neighbours; nodes are numbered
  // through the batch. Inside a stretch the neighbour beyond the end of a row is a node of another
  // row: nothing, as couplings that leave the grid are zero.
  template <class T, class Body>
  void gather(at::Tensor const& all, at::Tensor& out, Body const& body) const {
    std::int64_t const nx = grid().nodes(0), ny = grid().nodes(1), nz = grid().nodes(2);
    std::int64_t const nodes = grid().node_count();
    std::int64_t const rows = std::clamp<std::int64_t>(stretch_nodes / nz, 1, ny);
    std::int64_t const stretches = (ny + rows - 1) / rows;
    int const kept = static_cast<int>(all.size(1));
    auto const* const couplings = all.const_data_ptr<T>();
    auto* const result = out.mutable_data_ptr<T>();
    parallel_for(all.size(0) * nx * stretches, 16 * rows * nz, [&](auto begin, auto end) {
      for (std::int64_t i = begin; i < end; ++i) {
        std::int64_t const plane = i / stretches, sample = plane / nx, x = plane % nx;
        std::int64_t const from = i % stretches * rows, to = std::min(ny, from + rows);
        std::fill(result + (plane * ny + from) * nz, result + (plane * ny + to) * nz, T(0));
        for (int t = 0; t < offset_count; ++t) {
          auto const [tx, ty, tz] = offset_of(t);
          int const slot = t == no_offset ? -1 : coupling_slot(t, kept);
          if (slot < 0 || x + tx < 0 || x + tx >= nx) continue;
          std::int64_t const y = std::max<std::int64_t>(from, ty < 0 ? 1 : 0);
          std::int64_t const count = (std::min(to, ny - (ty > 0 ? 1 : 0)) - y) * nz - std::abs(tz);
          if (count <= 0) continue;
          std::int64_t const centre = (plane * ny + y) * nz + (tz < 0 ? 1 : 0);
          std::int64_t const other = centre + (tx * ny + ty) * nz + tz;
          std::int64_t const owner = (t > no_offset ? centre : other) - sample * nodes;
          body(result + centre, couplings + (sample * kept + slot) * nodes + owner, centre, other,
               count);
        }
      }
    });
  }

  bool seven_;            ///< points a row at most
  at::Tensor couplings_;  ///< [B, 13 or 3, nodes], see coupling_slot
};

}  // namespace

std::unique_ptr<LevelOperator> make_coupling_operator(Space const& space,
                                                      at::Tensor const& couplings) {
  return std::make_unique<StencilOperator>(space, regular_axes(space.slab().whole), couplings);
}

Coarsening coarsen_black_box(LevelOperator const& fine, Boundary const& boundary) {
  PointAxes axes = fine.axes();
  for (int axis = 0; axis < 3; ++axis) {
    axes[axis].held = boundary.face(axis, 1).kind == FaceKind::dirichlet;
  }
  GridCoarsening coarsening = coarsening_of(axes);
  PointAxes coarse_axes;
  Grid3 whole = fine.space().slab().whole;
  for (int axis = 0; axis < 3; ++axis) {
    coarse_axes[axis] = coarsened(axes[axis], coarsening[axis]);
    whole.voxels[axis] = coarse_axes[axis].points - 1;
  }
  // A part begins and, unless it is the last, ends at even points of x.
  coarsening.axes[0].points = static_cast<int>(fine.grid().nodes(0));
  auto const source = fine.entries();
  at::Tensor const weights = black_box_weights(*source, coarsening);
  return {std::make_unique<StencilOperator>(fine.space().coarsened(whole), coarse_axes,
                                            black_box_couplings(*source, weights)),
          black_box_transfer(fine.grid(), weights)};
}

}  // namespace voxcycle
