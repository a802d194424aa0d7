// SPDX-License-Identifier: BSD-3-Clause
#include "coarsest_solver.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/parallel.hpp"

#include <cmath>

#include "stencil_entries.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

// A = L L^T in place of A's lower triangle. @return whether A is positive definite.
bool factorise(double* a, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    double* const row = a + i * n;
    for (std::int64_t j = 0; j < i; ++j) {
      double const* const other = a + j * n;
      row[j] = (row[j] - lane_dot(row, other, j)) / other[j];
    }
    double const pivot = row[i] - lane_dot(row, row, i);
    if (!(pivot > 0.0)) {
      return false;
    }
    row[i] = std::sqrt(pivot);
  }
  return true;
}

// A matrix [B, nodes, nodes] from its couplings, in float64; the upper triangle stays zero. The
// diagonal is what makes rows sum to zero: a conductor that touches no Dirichlet face has a mode
// whose stiffness would be lost in the rounding of a diagonal of float32.
at::Tensor lower_triangle(StencilSource const& matrix) {
  std::int64_t const nodes = matrix.grid().node_count();
  at::Tensor const values = matrix.values().cpu();
  at::Tensor result = at::zeros({matrix.batch(), nodes, nodes}, at::kDouble);
  auto entries = result.accessor<double, 3>();
  AT_DISPATCH_FLOATING_TYPES(values.scalar_type(), "lower_triangle", [&] {
    with_entries<scalar_t>(matrix, values, [&](auto const& entry) {
      FieldSize const& size = entry.nodes;
      for (std::int64_t element = 0; element < matrix.batch() * nodes; ++element) {
        auto const [sample, x, y, z] = size.place(element);
        std::int64_t const i = element % nodes;
        for (int t = no_offset + 1; t < offset_count; ++t) {
          Step const o(t);
          if (!size.holds(x + o.x, y + o.y, z + o.z)) continue;
          std::int64_t const j = size.index(0, x + o.x, y + o.y, z + o.z);
          double const coupling = entry(sample, x, y, z, t);
          entries[sample][j][i] = coupling;
          entries[sample][i][i] -= coupling;
          entries[sample][j][j] -= coupling;
        }
      }
    });
  });
  return result;
}

// x becomes (L L^T)^-1 x.
void substitute(double const* factor, double* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    double const* const row = factor + i * n;
    x[i] = (x[i] - lane_dot(row, x, i)) / row[i];
  }
  for (std::int64_t i = n; i-- > 0;) {
    double const* const row = factor + i * n;
    x[i] /= row[i];
    for (std::int64_t j = 0; j < i; ++j) {
      x[j] -= row[j] * x[i];
    }
  }
}

}  // namespace

CoarsestSolver::CoarsestSolver(StencilSource const& matrix, at::Tensor const& mask) {
  Grid3 const& grid = matrix.grid();
  std::int64_t const nodes = grid.node_count(), batch = matrix.batch();
  VOXCYCLE_REQUIRE(nodes <= node_limit, "multigrid ends on a grid of "
                                            << grid.name()
                                            << " voxels, too large for a direct solve. Use "
                                               "sizes with more factors of two.");
  mask_ = mask.view({1, nodes});
  factor_ = lower_triangle(matrix);
  factor_.mul_(mask_.unsqueeze(1)).mul_(mask_.unsqueeze(2));
  at::Tensor const scale = factor_.diagonal(0, 1, 2).amax(1).view({batch, 1, 1});
  if (mask.min().item<double>() > 0.0) {
    factor_.add_(scale / static_cast<double>(nodes));  // lifts the constant off the null space
  }
  factor_.add_(at::diag_embed(1.0 - mask_));

  for (std::int64_t sample = 0; sample < batch; ++sample) {
    VOXCYCLE_REQUIRE(factorise(factor_[sample].mutable_data_ptr<double>(), nodes),
                     "coarsest matrix of sample " << sample
                                                  << " is not positive definite (multigrid needs "
                                                     "nu > 0 everywhere). Check the coefficient.");
  }
  auto const device = matrix.options().device();
  if (device.is_cpu()) return;
  inverse_ = at::cholesky_inverse(factor_).to(device, /*non_blocking=*/true);
  mask_ = mask_.to(device, /*non_blocking=*/true);
  factor_.reset();
}

at::Tensor CoarsestSolver::solve(at::Tensor const& b) const {
  std::int64_t const nodes = mask_.size(1);
  at::Tensor x = b.reshape({b.size(0), nodes}).to(at::kDouble) * mask_;
  if (inverse_.defined()) {
    return at::bmm(inverse_, x.unsqueeze(2)).to(b.scalar_type()).view_as(b);
  }
  auto const* const factor = factor_.const_data_ptr<double>();
  auto* const values = x.mutable_data_ptr<double>();
  parallel_for(b.size(0), nodes * nodes, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t sample = begin; sample < end; ++sample) {
      substitute(factor + sample * nodes * nodes, values + sample * nodes, nodes);
    }
  });
  return x.to(b.scalar_type()).view_as(b);
}

}  // namespace voxcycle
