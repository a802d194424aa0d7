// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/reference/multigrid_pcg.hpp"

namespace voxcycle {

MultigridOptions multigrid_options_for(at::Tensor const&) {
  return {};
}

SolveResult solve_multigrid_pcg(Problem const& problem, at::Tensor const& nu,
                                SolveOptions const& options,
                                std::optional<MultigridOptions> const& multigrid,
                                std::optional<at::Tensor> const& b,
                                std::optional<at::Tensor> const& start) {
  Multigrid const hierarchy(problem.grid, problem.boundary, nu,
                            multigrid ? *multigrid : multigrid_options_for(nu));
  auto precondition = [&](at::Tensor const& r) { return hierarchy.cycle(r); };
  return solve_pcg(problem, nu, precondition, options, b, start);
}

}  // namespace voxcycle
