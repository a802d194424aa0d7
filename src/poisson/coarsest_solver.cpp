// SPDX-License-Identifier: BSD-3-Clause
#include "coarsest_solver.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/parallel.hpp"

#include <cmath>

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

CoarsestSolver::CoarsestSolver(LevelOperator const& level, at::Tensor const& mask,
                               std::int64_t batch, at::ScalarType dtype) {
  Grid3 const& grid = level.grid();
  std::int64_t const nodes = grid.node_count();
  VOXCYCLE_REQUIRE(nodes <= node_limit, "multigrid ends on a grid of "
                                            << grid.name()
                                            << " voxels, too large for a direct solve. Use "
                                               "sizes with more factors of two.");
  mask_ = mask.view({1, nodes});
  // Row j of each sample's symmetric matrix is K applied to unit vector j, free nodes only.
  factor_ = at::empty({batch, nodes, nodes}, at::kDouble);
  at::Tensor unit = at::zeros({batch, 1, grid.nodes(0), grid.nodes(1), grid.nodes(2)}, dtype);
  at::Tensor const flat = unit.view({batch, nodes});
  for (std::int64_t j = 0; j < nodes; ++j) {
    flat.select(1, j).fill_(1.0);
    factor_.select(1, j).copy_(level.apply(unit).view({batch, nodes}));
    flat.select(1, j).zero_();
  }
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
}

at::Tensor CoarsestSolver::solve(at::Tensor const& b) const {
  std::int64_t const nodes = mask_.size(1);
  at::Tensor x = b.reshape({b.size(0), nodes}).to(at::kDouble) * mask_;
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
