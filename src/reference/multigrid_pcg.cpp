// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/reference/multigrid_pcg.hpp"

namespace voxcycle {

SolveResult solve_multigrid_pcg(Problem const& problem, at::Tensor const& nu,
                                SolveOptions const& options, MultigridOptions const& multigrid,
                                std::optional<at::Tensor> const& b,
                                std::optional<at::Tensor> const& start) {
  Multigrid const hierarchy(problem.grid, problem.boundary, nu, multigrid);
  auto precondition = [&](at::Tensor const& r) { return hierarchy.cycle(r); };
  return solve_pcg(problem, nu, precondition, options, b, start);
}

}  // namespace voxcycle
