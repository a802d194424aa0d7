// SPDX-License-Identifier: BSD-3-Clause
#include "train/source_term.hpp"

#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/poisson/sample_sums.hpp"

#include <ATen/ATen.h>

namespace voxcycle {

Ledger::Held plan_load(BookedFields const& unit, Source const& source) {
  if (source.is_zero()) return {};
  return source.kind == SourceKind::constant ? unit.common().nodes() : unit.nodes();
}

SourceTerm::SourceTerm(LossProblem const& problem) : grid_(problem.grid), source_(problem.source) {
  if (source_.kind != SourceKind::constant || source_.is_zero()) return;
  load_ = load_of_source(source_.value, grid_).to(problem.device);
}

std::optional<at::Tensor> SourceTerm::load(LossInput const& in) const {
  if (source_.is_zero()) return std::nullopt;
  if (source_.kind == SourceKind::constant) return load_.to(in.u.scalar_type());
  return load_of_source(in.f, grid_);
}

at::Tensor SourceTerm::mean_square(LossInput const& in) const {
  if (source_.kind == SourceKind::constant) {
    return at::full({1}, source_.value * source_.value, in.nu.options().dtype(at::kDouble));
  }
  return sample_dots(in.f, in.f).div_(static_cast<double>(grid_.voxel_count()));
}

}  // namespace voxcycle
