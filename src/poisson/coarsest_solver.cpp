// SPDX-License-Identifier: BSD-3-Clause
#include "coarsest_solver.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/parallel.hpp"

#include <array>
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

// K is applied to combs, sums of unit vectors three nodes apart: each node has one tooth among its
// neighbours, so that its value is one entry of K. Writes them into matrix [B, nodes, nodes].
void scatter_columns(at::Tensor const& k_comb, Grid3 const& grid,
                     std::array<std::int64_t, 3> const& first, at::Tensor& matrix) {
  // The tooth within one node of i, or -1 if it lies outside of the grid.
  auto const tooth = [&](std::int64_t i, int axis) {
    std::int64_t const j = i + 1 - (i + 4 - first[axis]) % 3;
    return j < grid.nodes(axis) ? j : -1;
  };
  auto const values = k_comb.accessor<double, 5>();
  auto entries = matrix.accessor<double, 3>();
  std::int64_t i = 0;
  for (std::int64_t x = 0; x < grid.nodes(0); ++x) {
    for (std::int64_t y = 0; y < grid.nodes(1); ++y) {
      for (std::int64_t z = 0; z < grid.nodes(2); ++z, ++i) {
        std::int64_t const jx = tooth(x, 0), jy = tooth(y, 1), jz = tooth(z, 2);
        if (jx < 0 || jy < 0 || jz < 0) continue;
        std::int64_t const j = (jx * grid.nodes(1) + jy) * grid.nodes(2) + jz;
        for (std::int64_t sample = 0; sample < matrix.size(0); ++sample) {
          entries[sample][j][i] = values[sample][0][x][y][z];
        }
      }
    }
  }
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
                               std::int64_t batch, at::TensorOptions const& fields) {
  Grid3 const& grid = level.grid();
  std::int64_t const nodes = grid.node_count();
  VOXCYCLE_REQUIRE(nodes <= node_limit, "multigrid ends on a grid of "
                                            << grid.name()
                                            << " voxels, too large for a direct solve. Use "
                                               "sizes with more factors of two.");
  mask_ = mask.view({1, nodes});
  factor_ = at::zeros({batch, nodes, nodes}, at::kDouble);
  auto const first_of = [](std::int64_t comb) {
    return std::array<std::int64_t, 3>{comb / 9, comb / 3 % 3, comb % 3};
  };
  std::vector<at::Tensor> combs;  // to the host together: it waits for each copy from a GPU
  for (std::int64_t comb = 0; comb < 27; ++comb) {
    auto const first = first_of(comb);
    at::Tensor unit = at::zeros({batch, 1, grid.nodes(0), grid.nodes(1), grid.nodes(2)}, fields);
    unit.slice(2, first[0], {}, 3).slice(3, first[1], {}, 3).slice(4, first[2], {}, 3).fill_(1.0);
    combs.push_back(level.apply(unit));
  }
  at::Tensor const columns = at::stack(combs).to(at::kCPU, at::kDouble);
  for (std::int64_t comb = 0; comb < 27; ++comb) {
    scatter_columns(columns[comb], grid, first_of(comb), factor_);
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
  if (fields.device().is_cpu()) return;
  inverse_ = at::cholesky_inverse(factor_).to(fields.device(), /*non_blocking=*/true);
  mask_ = mask_.to(fields.device(), /*non_blocking=*/true);
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
