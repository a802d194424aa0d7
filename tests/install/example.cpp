// SPDX-License-Identifier: BSD-3-Clause
// What solver.hpp shows, as a program: two layers across x, with a model or without.
#include "voxcycle/config/load_model.hpp"
#include "voxcycle/solver/solver.hpp"

#include <iostream>

#include <ATen/Functions.h>

int main(int argc, char** argv) {
  at::Tensor nu = at::ones({16, 16, 16});
  nu.narrow(0, 0, 8).fill_(3.0);
  voxcycle::SolverOptions options;
  if (argc > 1) options.model = voxcycle::load_model(argv[1]);
  voxcycle::Solver const solver(options);
  voxcycle::Solution const solution = solver.solve(nu);
  std::cout << "converged " << solution.converged << " iterations " << solution.iterations
            << " error " << solution.error_estimate << " flow " << solution.flows.into[0]
            << " middle " << solution.u[8][8][8].item<double>() << '\n';
  return solution.converged ? 0 : 1;
}
