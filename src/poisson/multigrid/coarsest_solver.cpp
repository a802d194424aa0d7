// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/multigrid/coarsest_solver.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/rehearsal.hpp"

#include <utility>

#include "poisson/multigrid/dense_points.hpp"
#include "poisson/operator/device.hpp"
#include "poisson/operator/stencil_entries.hpp"
#include <ATen/ATen.h>

namespace voxcycle {

static_assert(CoarsestSolver::node_limit <= InverseShared::max_size);

namespace {

// A matrix [B, nodes, nodes] from its couplings, in float64; the upper triangle stays zero. The
// diagonal is what makes rows sum to zero: a conductor that touches no Dirichlet face has a mode
// whose stiffness would be lost in the rounding of a diagonal of float32.
at::Tensor lower_triangle(StencilSource const& matrix) {
  std::int64_t const nodes = matrix.grid().node_count();
  at::Tensor const values = on_host(matrix.values());
  at::Tensor result =
      at::zeros({matrix.batch(), nodes, nodes}, values.options().dtype(at::kDouble));
  if (values.is_meta()) return result;
  auto entries = result.accessor<double, 3>();
  AT_DISPATCH_FLOATING_TYPES(values.scalar_type(), "lower_triangle", [&] {
    with_entries<scalar_t>(matrix, values, [&](auto const& of_node) {
      FieldSize const& size = of_node.nodes;
      for (std::int64_t element = 0; element < matrix.batch() * nodes; ++element) {
        auto const [sample, x, y, z] = size.place(element);
        std::int64_t const i = element % nodes;
        double row[offset_count];
        of_node.row(sample, x, y, z, row);
        for (int t = no_offset + 1; t < offset_count; ++t) {
          Step const o(t);
          if (!size.holds(x + o.x, y + o.y, z + o.z)) continue;
          std::int64_t const j = size.index(0, x + o.x, y + o.y, z + o.z);
          entries[sample][j][i] = row[t];
          entries[sample][i][i] -= row[t];
          entries[sample][j][j] -= row[t];
        }
      }
    });
  });
  return result;
}

}  // namespace

CoarsestSolver::CoarsestSolver(StencilSource const& matrix, Boundary const& boundary) {
  Grid3 const& grid = matrix.grid();
  std::int64_t const nodes = grid.node_count(), batch = matrix.batch();
  VOXCYCLE_REQUIRE(nodes <= node_limit, "multigrid ends on a grid of "
                                            << grid.name()
                                            << " voxels, too large for a direct solve. Use "
                                               "sizes with more factors of two.");
  at::Tensor matrices =
      matrix.options().device().is_cuda() ? on_gpu::dense_matrices(matrix) : lower_triangle(matrix);
  mask_ = free_node_mask(grid, boundary, matrices.options()).view({1, nodes});
  matrices.mul_(mask_.unsqueeze(1)).mul_(mask_.unsqueeze(2));
  at::Tensor const scale = matrices.diagonal(0, 1, 2).amax(1).view({batch, 1, 1});
  if (!boundary.has_dirichlet()) {
    matrices.add_(scale / static_cast<double>(nodes));  // lifts the constant off the null space
  }
  matrices.add_(at::diag_embed(1.0 - mask_));
  cholesky_ = DenseCholesky(std::move(matrices), matrix.options().device(), "coarsest matrix");
}

at::Tensor CoarsestSolver::solve(at::Tensor const& b) const {
  std::int64_t const nodes = mask_.size(1);
  at::Tensor x = b.reshape({b.size(0), nodes}).to(at::kDouble) * mask_;
  return cholesky_.solve(std::move(x)).to(b.scalar_type()).view_as(b);
}

}  // namespace voxcycle
