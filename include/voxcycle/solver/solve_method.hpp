// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/solver/pcg.hpp"

#include <map>
#include <optional>
#include <string>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// What preconditions conjugate gradients. The two share no code: each checks the other.
enum class SolveMethod {
  multigrid,  ///< solve_multigrid_pcg: anything
  fft         ///< solve_fft_pcg: trilinear elements, nu > 0, on CPUs; slow at high contrast
};

/// "fft" and "multigrid".
std::map<std::string, SolveMethod> const& solve_method_words();
std::string to_string(SolveMethod method);

/// @throws Error saying what to do where a method lacks the scheme or the device. That fft needs
/// nu > 0 is checked by its solve.
void require_can_solve(SolveMethod method, Scheme scheme, at::Device device);

/// A solution from the lift by either method. Arguments as solve_pcg.
/// @throws Error also as require_can_solve
SolveResult solve_by(SolveMethod method, Problem const& problem, at::Tensor const& nu,
                     SolveOptions const& options = {},
                     std::optional<at::Tensor> const& b = std::nullopt);

}  // namespace voxcycle
