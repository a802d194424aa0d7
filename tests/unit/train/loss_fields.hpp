// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/train/loss.hpp"

#include "../poisson/q1_elements.hpp"
#include <ATen/ATen.h>

namespace voxcycle::testing {

/// Two samples of a problem with all that any loss looks at; u and u_ref, measured from the
/// boundary's datum, are random on free nodes.
struct LossFields {
  explicit LossFields(LossProblem const& chosen)
      : problem(chosen),
        grid(problem.space.slab().whole),
        lifted(lift(grid, problem.boundary, at::kDouble)),
        mask(free_node_mask(grid, problem.boundary, at::kDouble)) {
    in.u = from_datum(lifted + mask * random_nodes(grid, 2), problem.boundary);
    in.nu = random_voxels(grid, 2);
    if (problem.source.kind == SourceKind::sampled) in.f = random_voxels(grid, 2) - 1.0;
    in.u_ref = from_datum(lifted + mask * random_nodes(grid, 2), problem.boundary);
  }

  /// K(nu) of sample k, dense: [nodes, nodes].
  at::Tensor stiffness(std::int64_t k) const {
    return dense_stiffness(in.nu.narrow(0, k, 1).contiguous(), grid);
  }

  /// b of sample k, dense: [nodes].
  at::Tensor load(std::int64_t k) const {
    at::Tensor const constant = at::full_like(in.nu, problem.source.value);
    at::Tensor const& f = in.f.defined() ? in.f : constant;
    return dense_load(f.narrow(0, k, 1).contiguous(), grid);
  }

  /// The solution of the dense system with unit rows for Dirichlet nodes.
  at::Tensor solution() const {
    at::Tensor const fixed = 1.0 - mask.flatten();
    at::Tensor u = at::empty_like(in.u);
    for (std::int64_t k = 0; k < u.size(0); ++k) {
      at::Tensor const right = at::where(fixed == 1.0, lifted.flatten(), load(k));
      at::Tensor const matrix = at::where(fixed.unsqueeze(1) == 1.0, at::diag(fixed), stiffness(k));
      u[k].copy_(at::linalg_solve(matrix, right).view_as(u[k]));
    }
    return u;
  }

  LossProblem problem;
  Grid3 grid;
  at::Tensor lifted;
  at::Tensor mask;
  LossInput in;
};

}  // namespace voxcycle::testing
