// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/nodal_frame.hpp"

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

}  // namespace voxcycle
