// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/member_spread.hpp"

#include "voxcycle/core/error.hpp"

#include <ATen/ATen.h>

namespace voxcycle {

at::Tensor MemberSpread::relative() const {
  auto const norm = [](at::Tensor const& x) { return x.flatten(1).square().sum(1).sqrt(); };
  return norm(deviation) / norm(mean);
}

MemberSpread spread_of_members(std::vector<at::Tensor> const& fields) {
  VOXCYCLE_REQUIRE(fields.size() > 1,
                   "the spread of " << fields.size() << " members is none. Give two or more.");
  // One field at a time: those of large grids fill the memory.
  auto const count = static_cast<double>(fields.size());
  at::Tensor const mean = fields.front().to(at::kDouble, /*non_blocking=*/false, /*copy=*/true);
  for (std::size_t k = 1; k < fields.size(); ++k) mean.add_(fields[k]);
  mean.div_(count);
  at::Tensor const squares = at::zeros_like(mean);
  for (auto const& field : fields) squares.add_((field.to(at::kDouble) - mean).square_());
  return {mean, squares.div_(count - 1.0).sqrt_()};
}

}  // namespace voxcycle
