// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/halo.hpp"

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// Dense, in torch's default layout, and back.
at::Tensor packed(at::Tensor const& field) {
  return field.permute({0, 2, 3, 4, 1}).contiguous();
}
at::Tensor unpacked(at::Tensor const& values) {
  return values.permute({0, 4, 1, 2, 3});
}

at::Tensor planes(at::Tensor const& field, std::int64_t begin, std::int64_t count) {
  return field.narrow(2, begin, count);
}

at::Tensor empty_with_planes(at::Tensor const& like, std::int64_t count) {
  auto sizes = like.sizes().vec();
  sizes[2] = count;
  return at::empty(sizes, like.options().memory_format(like.suggest_memory_format()));
}

/// The first and the last plane to the neighbours there, and theirs.
Neighbours exchange_ends(Communicator const* spatial, at::Tensor const& first,
                         at::Tensor const& last) {
  if (spatial == nullptr || first.numel() == 0) return {};  // of no sample, on all ranks alike
  auto got = spatial->exchange(packed(first), packed(last));
  if (got.before.defined()) got.before = unpacked(got.before);
  if (got.behind.defined()) got.behind = unpacked(got.behind);
  return got;
}

}  // namespace

at::Tensor with_halo(Communicator const* spatial, at::Tensor const& slab) {
  std::int64_t const count = slab.size(2);
  at::Tensor y = empty_with_planes(slab, count + 2);
  auto const got = exchange_ends(spatial, planes(slab, 0, 1), planes(slab, count - 1, 1));
  planes(y, 1, count).copy_(slab);
  auto const set = [&](std::int64_t plane, at::Tensor const& values) {
    values.defined() ? planes(y, plane, 1).copy_(values) : planes(y, plane, 1).zero_();
  };
  set(0, got.before);
  set(count + 1, got.behind);
  return y;
}

at::Tensor halo_added(Communicator const* spatial, at::Tensor const& gradient) {
  std::int64_t const count = gradient.size(2) - 2;
  at::Tensor x = empty_with_planes(gradient, count);
  auto const got = exchange_ends(spatial, planes(gradient, 0, 1), planes(gradient, count + 1, 1));
  x.copy_(planes(gradient, 1, count));
  if (got.before.defined()) planes(x, 0, 1).add_(got.before);
  if (got.behind.defined()) planes(x, count - 1, 1).add_(got.behind);
  return x;
}

}  // namespace voxcycle
