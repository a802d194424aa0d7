// SPDX-License-Identifier: BSD-3-Clause
#include "train/source_term.hpp"

#include "voxcycle/poisson/energy.hpp"

#include <ATen/ATen.h>

namespace voxcycle {

SourceTerm::SourceTerm(LossProblem const& problem) : grid_(problem.grid), source_(problem.source) {
  if (source_.kind != SourceKind::constant || source_.is_zero()) return;
  load_ = load_of_source(source_.value, grid_).to(problem.device);
}

std::optional<at::Tensor> SourceTerm::load(at::Tensor const& f, at::ScalarType type) const {
  if (source_.is_zero()) return std::nullopt;
  if (source_.kind == SourceKind::constant) return load_.to(type);
  return load_of_source(f, grid_);
}

}  // namespace voxcycle
