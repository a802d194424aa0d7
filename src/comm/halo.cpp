// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/halo.hpp"

#include "voxcycle/core/sole_holder.hpp"

#include <utility>

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

/// One sample whose channels are its innermost axis: any of its planes lie densely.
bool has_dense_planes(at::Tensor const& field) {
  return field.size(0) == 1 && field.is_contiguous(at::MemoryFormat::ChannelsLast3d);
}

/// Of the memory that empty_with_room gives, and its mark. @param field  with its planes of room
void release_room(void* field) {
  delete static_cast<at::Tensor*>(field);
}

/// Planes of a field, not as torch's view of it but with a memory of their own that is the same.
at::Tensor sharing(c10::Storage const& memory, at::Tensor const& planes) {
  at::Tensor shared = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(memory),
                                                               planes.key_set(), planes.dtype());
  shared.unsafeGetTensorImpl()->set_storage_offset(planes.storage_offset());
  shared.unsafeGetTensorImpl()->set_sizes_and_strides(planes.sizes(), planes.strides());
  return shared;
}

/// The slab with its room; undefined if it has none.
at::Tensor with_room_of(at::Tensor const& slab) {
  if (slab.numel() == 0 || slab.storage().data_ptr().get_deleter() != release_room) return {};
  auto const& field = *static_cast<at::Tensor const*>(slab.storage().data_ptr().get_context());
  at::Tensor const inside = planes(field, 1, field.size(2) - 2);
  bool const is_all_of_it = slab.storage_offset() == inside.storage_offset() &&
                            slab.sizes() == inside.sizes() && slab.strides() == inside.strides();
  return is_all_of_it ? sharing(slab.storage(), field) : at::Tensor();
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
  auto const got = exchange_ends(spatial, planes(slab, 0, 1), planes(slab, count - 1, 1));
  at::Tensor y = with_room_of(slab);
  if (!y.defined()) {
    y = empty_with_planes(slab, count + 2);
    planes(y, 1, count).copy_(slab);
  }
  auto const set = [&](std::int64_t plane, at::Tensor const& values) {
    values.defined() ? planes(y, plane, 1).copy_(values) : planes(y, plane, 1).zero_();
  };
  set(0, got.before);
  set(count + 1, got.behind);
  return y;
}

at::Tensor halo_added(Communicator const* spatial, at::Tensor const& gradient) {
  std::int64_t const count = gradient.size(2) - 2;
  auto const got = exchange_ends(spatial, planes(gradient, 0, 1), planes(gradient, count + 1, 1));
  bool const is_free = has_dense_planes(gradient) && is_sole_holder(gradient);
  at::Tensor x = planes(gradient, 1, count);
  if (!is_free) x = empty_with_planes(gradient, count).copy_(x);
  if (got.before.defined()) planes(x, 0, 1).add_(got.before);
  if (got.behind.defined()) planes(x, count - 1, 1).add_(got.behind);
  return x;
}

at::Tensor empty_with_room(at::Tensor const& slab) {
  if (slab.numel() == 0 || !has_dense_planes(slab)) return at::empty_like(slab);
  at::Tensor const field = empty_with_planes(slab, slab.size(2) + 2);
  auto const bytes = field.storage().nbytes();
  c10::DataPtr marked(field.storage().mutable_data(), new at::Tensor(field), release_room,
                      field.device());
  c10::Storage const memory(c10::Storage::use_byte_size_t(), bytes, std::move(marked),
                            /*allocator=*/nullptr, /*resizable=*/false);
  return sharing(memory, planes(field, 1, slab.size(2)));
}

}  // namespace voxcycle
