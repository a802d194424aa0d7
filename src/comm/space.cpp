// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/space.hpp"

#include "voxcycle/comm/exact_sum.hpp"
#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

at::Tensor planes_of(at::Tensor const& field, std::int64_t begin, std::int64_t count) {
  return field.narrow(2, begin, count);
}

/// Zeros.
at::Tensor with_planes(at::Tensor const& like, std::int64_t planes, at::MemoryFormat layout) {
  auto sizes = like.sizes().vec();
  sizes[2] = planes;
  return at::zeros(sizes, like.options().memory_format(layout));
}

at::Tensor reduced(Communicator const* comm, double value, ReduceOperation operation) {
  at::Tensor values = at::full({1}, value, at::kDouble);
  if (comm != nullptr) comm->all_reduce(values, operation);
  return values;
}

}  // namespace

Space::Space(Communicator const* comm, Slab slab)
    : comm_(slab.is_whole() ? nullptr : comm), slab_(std::move(slab)) {
  bool const fits = slab_.is_whole() || (comm != nullptr && comm->size() == slab_.processes() &&
                                         comm->rank() == slab_.rank);
  VOXCYCLE_REQUIRE(fits, "space: slabs of " << slab_.processes() << " processes are for as many.");
}

Space Space::below(Grid3 const& coarse_whole, std::int64_t above) const {
  std::int64_t const halo = slab_.halo;
  Space const wide = coarsened(coarse_whole).with_halo(halo);
  return stays_shared(wide.slab_, {.halo = halo, .above = above}) ? wide : Space(coarse_whole);
}

at::Tensor Space::own_voxels(at::Tensor const& field) const {
  Planes const own = slab_.own_voxels();
  return planes_of(field, own.begin, own.count);
}

at::Tensor Space::own_nodes(at::Tensor const& field) const {
  Planes const own = slab_.own_nodes();
  return planes_of(field, own.begin, own.count);
}

/// @param behind  planes of the next process that this one has: of nodes one more than the halo
void Space::refresh(at::Tensor const& field, Planes const& own, std::int64_t behind) const {
  if (is_whole() || field.numel() == 0) return;
  auto const sent = [&](std::int64_t begin) {
    return planes_of(field, begin, behind).contiguous();
  };
  auto const got = comm_->exchange(sent(own.begin), sent(own.begin + own.count - behind));
  if (got.before.defined()) {
    planes_of(field, 0, own.begin).copy_(planes_of(got.before, behind - own.begin, own.begin));
  }
  if (got.behind.defined()) planes_of(field, own.begin + own.count, behind).copy_(got.behind);
}

void Space::refresh_voxels(at::Tensor const& field) const {
  if (slab_.halo > 0) refresh(field, slab_.own_voxels(), slab_.halo);
}

void Space::refresh_nodes(at::Tensor const& field) const {
  refresh(field, slab_.own_nodes(), slab_.halo + 1);
}

at::Tensor Space::within(Space const& part, at::Tensor const& field, std::int64_t extra) const {
  Slab const& inner = part.slab_;
  return planes_of(field, inner.first() - slab_.first(), inner.behind() - inner.first() + extra)
      .contiguous();
}

at::Tensor Space::voxels_within(Space const& part, at::Tensor const& field) const {
  return within(part, field, 0);
}

at::Tensor Space::nodes_within(Space const& part, at::Tensor const& field) const {
  return within(part, field, 1);
}

at::Tensor Space::laid_out(at::Tensor const& own, Space const& other, std::int64_t extra) const {
  auto const layout = own.suggest_memory_format();
  if (!other.is_whole()) {
    at::Tensor field = with_planes(own, other.slab_.behind() - other.slab_.first() + extra, layout);
    planes_of(field, other.slab_.own_voxels().begin, own.size(2)).copy_(own);
    return field;
  }
  // Slabs differ in thickness: all are sent as thick as the thickest.
  std::int64_t thickest = 0;
  for (int r = 0; r < slab_.processes(); ++r) {
    thickest = std::max(thickest, slab_.ends[r + 1] - slab_.ends[r] + extra);
  }
  at::Tensor field = with_planes(own, slab_.whole.voxels[0] + extra, layout);
  if (field.numel() == 0) return field;
  at::Tensor const sent = with_planes(own, thickest, at::MemoryFormat::Contiguous);
  planes_of(sent, 0, own.size(2)).copy_(own);
  // As bytes: communicators know few types.
  at::Tensor const all = comm_->all_gather(sent.flatten().view(at::kByte));
  for (int r = 0; r < slab_.processes(); ++r) {
    bool const is_last = r + 1 == slab_.processes();
    std::int64_t const count = slab_.ends[r + 1] - slab_.ends[r] + (is_last ? extra : 0);
    planes_of(field, slab_.ends[r], count)
        .copy_(planes_of(all[r].view(own.scalar_type()).view(sent.sizes()), 0, count));
  }
  return field;
}

at::Tensor Space::voxels_on(Space const& other, at::Tensor const& field) const {
  if (is_whole()) return field;
  at::Tensor laid = laid_out(own_voxels(field), other, 0);
  other.refresh_voxels(laid);
  return laid;
}

at::Tensor Space::nodes_on(Space const& other, at::Tensor const& field) const {
  if (is_whole()) return field;
  at::Tensor laid = laid_out(own_nodes(field), other, 1);
  other.refresh_nodes(laid);
  return laid;
}

double Space::max(double value) const {
  return reduced(comm_, value, ReduceOperation::max).item<double>();
}

double Space::min(double value) const {
  return reduced(comm_, value, ReduceOperation::min).item<double>();
}

at::Tensor Space::sum_of_parts(at::Tensor const& values) const {
  if (is_whole()) return values;
  return exact_sum(*comm_, values.view({1, -1}), slab_.processes()).view_as(values);
}

at::Tensor Space::sum_of_planes(at::Tensor const& terms) const {
  at::Tensor all = terms;
  if (!is_whole()) {
    // As nodes of a grid of one node across.
    at::Tensor const field = terms.reshape({terms.size(0), 1, terms.size(1), 1, 1});
    Space const whole(slab_.whole);
    all = laid_out(field, whole, 1).flatten(1);
  }
  at::Tensor sums = at::zeros({all.size(0)}, all.options());
  if (all.is_meta()) return sums;
  auto const from = all.accessor<double, 2>();
  auto to = sums.accessor<double, 1>();
  for (std::int64_t n = 0; n < all.size(0); ++n) {
    for (std::int64_t plane = 0; plane < all.size(1); ++plane) to[n] += from[n][plane];
  }
  return sums;
}

Space part_of_processes(Communicator const& comm, Grid3 const& grid) {
  return {&comm, slab_of(grid, comm.size(), comm.rank())};
}

Space part_of_processes(Communicator const* comm, Slabs const& slabs, Grid3 const& grid) {
  if (!slabs.cut(grid) || (comm == nullptr && slabs.count > 1)) return grid;
  return {comm, slabs.of(grid, comm == nullptr ? 0 : comm->rank())};
}

}  // namespace voxcycle
