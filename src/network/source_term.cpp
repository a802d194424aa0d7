// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/source_term.hpp"

#include "voxcycle/poisson/energy.hpp"

#include <ATen/ATen.h>

namespace voxcycle {

SourceTerm::SourceTerm(Space const& space, Source const& source, at::Device device)
    : space_(space), source_(source) {
  if (source_.varies() || source_.is_zero()) return;
  load_ = load_of_source(source_.value, space_).to(device);
}

std::optional<at::Tensor> SourceTerm::load(at::Tensor const& f, at::ScalarType type) const {
  if (source_.is_zero()) return std::nullopt;
  if (!source_.varies()) return load_.to(type);
  return load_of_source(f, space_);
}

}  // namespace voxcycle
