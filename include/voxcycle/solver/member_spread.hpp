// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// What the members of an ensemble say together of the same samples, float64, shape of one's field.
struct MemberSpread {
  at::Tensor mean;
  /// Standard deviation over the members at each node, of the sample kind (over their number less
  /// one).
  at::Tensor deviation;

  /// |deviation| / |mean| over the nodes of each sample: [B].
  at::Tensor relative() const;
};

/// @param fields  of the members, two or more, each [B, 1, nx+1, ny+1, nz+1], any float dtype
MemberSpread spread_of_members(std::vector<at::Tensor> const& fields);

}  // namespace voxcycle
