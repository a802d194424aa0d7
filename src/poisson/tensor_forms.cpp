// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/tensor_forms.hpp"

#include <algorithm>

#include "poisson/black_box.hpp"
#include <ATen/ATen.h>

namespace voxcycle::tensor_forms {
namespace {

constexpr int kAxes[] = {2, 3, 4};

/// Weights (1/2, 1, 1/2) at every other index of one axis.
at::Tensor restrict_axis(at::Tensor const& r, int axis) {
  at::Tensor sum = r.slice(axis, 0, {}, 2).clone();
  at::Tensor const between = r.slice(axis, 1, {}, 2);
  std::int64_t const count = between.size(axis);
  sum.narrow(axis, 0, count).add_(between, 0.5);
  sum.narrow(axis, 1, count).add_(between, 0.5);
  return sum;
}

/// The nodes i of x for which i + o is a node, too, moved by `by` (0 or o).
at::Tensor overlap(at::Tensor const& x, Offset const& o, bool moved) {
  at::Tensor part = x;
  for (int a = 0; a < 3; ++a) {
    std::int64_t const begin = std::max(0, -o[a]) + (moved ? o[a] : 0);
    part = part.narrow(kAxes[a], begin, x.size(kAxes[a]) - std::abs(o[a]));
  }
  return part;
}

/// Nodes 2 I + o of a fine field that has one node more on every side, for the nodes I of `coarse`.
at::Tensor every_other(at::Tensor const& padded, Offset const& o, at::Tensor const& coarse) {
  at::Tensor part = padded;
  for (int a = 0; a < 3; ++a) {
    std::int64_t const first = 1 + o[a];
    part = part.slice(kAxes[a], first, first + 2 * coarse.size(kAxes[a]) - 1, 2);
  }
  return part;
}

at::Tensor inner(at::Tensor const& padded) {
  at::Tensor part = padded;
  for (int const axis : kAxes) part = part.narrow(axis, 1, padded.size(axis) - 2);
  return part;
}

at::Tensor slot(at::Tensor const& arrays, int number) {
  return arrays.narrow(1, number, 1);
}

}  // namespace

at::Tensor restrict_nodes(at::Tensor const& r) {
  at::Tensor sum = r;
  for (int const axis : kAxes) sum = restrict_axis(sum, axis);
  return sum.contiguous();
}

void add_prolonged(at::Tensor& x, at::Tensor const& e, Grid3 const& fine) {
  // Node k of the coarse grid is node 2k of the fine one: trilinear with aligned corners.
  x.add_(at::upsample_trilinear3d(e, {fine.nodes(0), fine.nodes(1), fine.nodes(2)},
                                  /*align_corners=*/true));
}

at::Tensor average_voxels(at::Tensor const& nu) {
  return at::avg_pool3d(nu, {2, 2, 2});
}

at::Tensor apply_couplings(at::Tensor const& couplings, at::Tensor const& x) {
  at::Tensor sum = at::zeros_like(x);
  for (int s = 0; s < coupling_count; ++s) {
    Offset const o = offset_of(no_offset + 1 + s);
    at::Tensor const flow = overlap(x, o, true).sub(overlap(x, o, false));
    flow.mul_(overlap(slot(couplings, s), o, false));
    overlap(sum, o, false).add_(flow);
    overlap(sum, o, true).sub_(flow);
  }
  return sum;
}

at::Tensor restrict_by_weights(at::Tensor const& weights, at::Tensor const& r) {
  at::Tensor const padded = at::constant_pad_nd(r, {1, 1, 1, 1, 1, 1});
  at::Tensor sum = every_other(padded, {0, 0, 0}, weights).clone(at::MemoryFormat::Contiguous);
  for (int t = 0; t < offset_count; ++t) {
    if (t == no_offset) continue;
    sum.addcmul_(slot(weights, weight_slot(t)), every_other(padded, offset_of(t), weights));
  }
  return sum;
}

void add_prolonged_by_weights(at::Tensor const& weights, at::Tensor& x, at::Tensor const& e) {
  at::Tensor const padded = at::constant_pad_nd(at::zeros_like(x), {1, 1, 1, 1, 1, 1});
  every_other(padded, {0, 0, 0}, e).copy_(e);
  for (int t = 0; t < offset_count; ++t) {
    if (t == no_offset) continue;
    every_other(padded, offset_of(t), e).addcmul_(slot(weights, weight_slot(t)), e);
  }
  x.add_(inner(padded));
}

}  // namespace voxcycle::tensor_forms
