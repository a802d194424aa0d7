// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/solve_method.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/solver/fast_poisson.hpp"
#include "voxcycle/solver/multigrid_pcg.hpp"

namespace voxcycle {

std::map<std::string, SolveMethod> const& solve_method_words() {
  static std::map<std::string, SolveMethod> const words{{"multigrid", SolveMethod::multigrid},
                                                        {"fft", SolveMethod::fft}};
  return words;
}

std::string to_string(SolveMethod method) {
  return method == SolveMethod::fft ? "fft" : "multigrid";
}

void require_can_solve(SolveMethod method, Scheme scheme, at::Device device) {
  if (method == SolveMethod::multigrid) return;
  VOXCYCLE_REQUIRE(scheme == Scheme::q1,
                   "the solver fft is for trilinear elements (scheme q1), not for finite volumes. "
                   "Take the solver multigrid.");
  VOXCYCLE_REQUIRE(device.is_cpu(), "the solver fft runs on CPUs, not on "
                                        << device.str()
                                        << ". Set run.device = cpu, or take the solver multigrid.");
}

SolveResult solve_by(SolveMethod method, Problem const& problem, at::Tensor const& nu,
                     SolveOptions const& options, std::optional<at::Tensor> const& b) {
  require_can_solve(method, problem.scheme, nu.device());
  if (method == SolveMethod::multigrid) return solve_multigrid_pcg(problem, nu, options, {}, b);
  return solve_fft_pcg(problem, nu, FastPoisson(problem), options, b);
}

}  // namespace voxcycle
