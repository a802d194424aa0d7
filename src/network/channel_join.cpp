// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/channel_join.hpp"

#include "voxcycle/core/parallel.hpp"

#include <algorithm>
#include <cstring>

#include <torch/torch.h>

namespace voxcycle {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr auto kLayout = at::MemoryFormat::ChannelsLast3d;

/// The channels of all voxels as rows of bytes: `bytes` of each row, which begin `stride` apart.
struct Rows {
  char* data;
  std::size_t bytes;
  std::size_t stride;
};

/// With the size known to the compiler a row is a few moves instead of a call.
template <std::size_t kBytes>
void copy_rows_of(Rows from, Rows to, std::int64_t begin, std::int64_t end) {
  std::size_t const bytes = kBytes == 0 ? from.bytes : kBytes;
  for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); ++row) {
    std::memcpy(to.data + row * to.stride, from.data + row * from.stride, bytes);
  }
}

void copy_rows(Rows from, Rows to, std::int64_t rows) {
  auto* copy = copy_rows_of<0>;
  if (from.bytes == 16) copy = copy_rows_of<16>;
  if (from.bytes == 32) copy = copy_rows_of<32>;
  if (from.bytes == 64) copy = copy_rows_of<64>;
  if (from.bytes == 128) copy = copy_rows_of<128>;
  parallel_for(rows, static_cast<std::int64_t>(from.bytes),
               [&](std::int64_t begin, std::int64_t end) { copy(from, to, begin, end); });
}

/// The channels of `x` from the one at `offset` bytes on, `channels` of them.
Rows rows_of(at::Tensor const& x, std::size_t offset, std::int64_t channels) {
  std::size_t const size = x.element_size();
  return {static_cast<char*>(x.data_ptr()) + offset, static_cast<std::size_t>(channels) * size,
          static_cast<std::size_t>(x.size(1)) * size};
}

at::Tensor empty_with_channels(at::Tensor const& like, std::int64_t channels) {
  auto sizes = like.sizes().vec();
  sizes[1] = channels;
  return at::empty(sizes, like.options().memory_format(kLayout));
}

struct JoinFunction : torch::autograd::Function<JoinFunction> {
  static at::Tensor forward(AutogradContext* context, at::Tensor const& a, at::Tensor const& b) {
    context->saved_data["a"] = a.size(1);
    context->saved_data["b"] = b.size(1);
    at::Tensor const joined = empty_with_channels(a, a.size(1) + b.size(1));
    std::int64_t const voxels = a.numel() / std::max<std::int64_t>(1, a.size(1));
    std::size_t offset = 0;
    for (auto const& part : {a.contiguous(kLayout), b.contiguous(kLayout)}) {
      Rows const from = rows_of(part, 0, part.size(1));
      copy_rows(from, rows_of(joined, offset, part.size(1)), voxels);
      offset += from.bytes;
    }
    return joined;
  }

  static variable_list backward(AutogradContext* context, variable_list const& slopes) {
    at::Tensor const slope = slopes.front().contiguous(kLayout);
    std::int64_t const voxels = slope.numel() / std::max<std::int64_t>(1, slope.size(1));
    variable_list gradients;
    std::size_t offset = 0;
    for (auto const* part : {"a", "b"}) {
      std::int64_t const channels = context->saved_data[part].toInt();
      Rows const from = rows_of(slope, offset, channels);
      gradients.push_back(empty_with_channels(slope, channels));
      copy_rows(from, rows_of(gradients.back(), 0, channels), voxels);
      offset += from.bytes;
    }
    return gradients;
  }
};

}  // namespace

Units join_channels(Units const& a, Units const& b) {
  return each(a, b,
              [](at::Tensor const& x, at::Tensor const& y) { return JoinFunction::apply(x, y); });
}

Field plan_join(Tape& tape, Field const& a, Field const& b) {
  return tape.record(tape.features(a.grid, a.channels + b.channels), {.inputs = {a, b}});
}

}  // namespace voxcycle
