// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/nodal_frame.hpp"

#include <ATen/ATen.h>

namespace voxcycle {

at::ScalarType solution_type(Pass const& pass) {
  return pass.dtype == at::kDouble ? at::kDouble : at::kFloat;
}

NodalFrame const& FrameCache::at(Pass const& pass, Grid3 const& grid) {
  auto const type = solution_type(pass);
  auto [place, is_new] = frames_.try_emplace({grid.name(), type});
  if (is_new) {
    NodalFrame const frame = make_(grid);
    place->second = {frame.lift.to(type), frame.mask.to(type)};
  }
  return place->second;
}

bool has_steps(NodalFrame const& frame) {
  at::Tensor const fixed = frame.mask == 0;
  for (int axis = 2; axis < 5; ++axis) {
    std::int64_t const pairs = fixed.size(axis) - 1;
    auto const first = [&](at::Tensor const& x) { return x.narrow(axis, 0, pairs); };
    auto const second = [&](at::Tensor const& x) { return x.narrow(axis, 1, pairs); };
    at::Tensor const differ = first(frame.lift) != second(frame.lift);
    if ((first(fixed) & second(fixed) & differ).any().item<bool>()) return true;
  }
  return false;
}

Units FrameCache::with_dirichlet_values(Pass const& pass, Grid3 const& grid, Units const& u) {
  auto const& frame = at(pass, grid);
  auto [place, is_new] = has_steps_.try_emplace(grid.name());
  if (is_new) place->second = has_steps(frame);
  if (!place->second) return u;
  at::Tensor const fixed = frame.mask == 0;
  return each(u, [&](at::Tensor const& unit) { return at::where(fixed, frame.lift, unit); });
}

}  // namespace voxcycle
