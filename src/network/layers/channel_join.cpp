// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/channel_join.hpp"

#include "voxcycle/core/parallel.hpp"
#include "voxcycle/core/rehearsal.hpp"

#include <cstring>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace voxcycle {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Some channels of all voxels as rows of bytes: `bytes` of each row, which begin `stride` apart.
struct Rows {
  char* data;
  std::size_t bytes;
  std::size_t stride;
  std::int64_t count;
};

/// With the size known to the compiler a row is a few moves instead of a call.
template <std::size_t kBytes>
void copy_rows_of(Rows from, Rows to, std::int64_t begin, std::int64_t end) {
  std::size_t const bytes = kBytes == 0 ? from.bytes : kBytes;
  for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(end); ++row) {
    std::memcpy(to.data + row * to.stride, from.data + row * from.stride, bytes);
  }
}

void copy_rows(Rows from, Rows to) {
  auto* copy = copy_rows_of<0>;
  if (from.bytes == 16) copy = copy_rows_of<16>;
  if (from.bytes == 32) copy = copy_rows_of<32>;
  if (from.bytes == 64) copy = copy_rows_of<64>;
  if (from.bytes == 128) copy = copy_rows_of<128>;
  parallel_for(from.count, static_cast<std::int64_t>(from.bytes),
               [&](std::int64_t begin, std::int64_t end) { copy(from, to, begin, end); });
}

/// `channels` channels of x from number `first` on. Channels last, a row holds those of a voxel, in
/// torch's default layout those of a sample.
Rows rows_of(at::Tensor const& x, std::int64_t first, std::int64_t channels,
             at::MemoryFormat layout) {
  std::int64_t const voxels = x.size(2) * x.size(3) * x.size(4);
  bool const by_voxel = layout == at::MemoryFormat::ChannelsLast3d;
  auto const bytes = [&](std::int64_t count) {
    return static_cast<std::size_t>(count * (by_voxel ? 1 : voxels)) * x.element_size();
  };
  return {static_cast<char*>(x.data_ptr()) + bytes(first), bytes(channels), bytes(x.size(1)),
          x.size(0) * (by_voxel ? voxels : 1)};
}

at::Tensor empty_with_channels(at::Tensor const& like, std::int64_t channels,
                               at::MemoryFormat layout) {
  auto sizes = like.sizes().vec();
  sizes[1] = channels;
  return at::empty(sizes, like.options().memory_format(layout));
}

struct JoinFunction : torch::autograd::Function<JoinFunction> {
  static at::Tensor forward(AutogradContext* ctx, at::Tensor const& a, at::Tensor const& b,
                            at::MemoryFormat layout) {
    ctx->saved_data["a"] = a.size(1);
    ctx->saved_data["b"] = b.size(1);
    ctx->saved_data["layout"] = static_cast<std::int64_t>(layout);
    at::Tensor const joined = empty_with_channels(a, a.size(1) + b.size(1), layout);
    std::int64_t first = 0;
    for (auto const& part : {a.contiguous(layout), b.contiguous(layout)}) {
      std::int64_t const channels = part.size(1);
      copy_rows(rows_of(part, 0, channels, layout), rows_of(joined, first, channels, layout));
      first += channels;
    }
    return joined;
  }

  static variable_list backward(AutogradContext* ctx, variable_list const& given) {
    auto const layout = static_cast<at::MemoryFormat>(ctx->saved_data["layout"].toInt());
    at::Tensor const gradient = given.front().contiguous(layout);
    variable_list gradients;
    std::int64_t first = 0;
    for (auto const* part : {"a", "b"}) {
      std::int64_t const channels = ctx->saved_data[part].toInt();
      gradients.push_back(empty_with_channels(gradient, channels, layout));
      copy_rows(rows_of(gradient, first, channels, layout),
                rows_of(gradients.back(), 0, channels, layout));
      first += channels;
    }
    gradients.emplace_back();  // layout
    return gradients;
  }
};

}  // namespace

MicroBatches join_channels(ForwardContext const& context, MicroBatches const& a,
                           MicroBatches const& b) {
  return each(a, b, [&](at::Tensor const& x, at::Tensor const& y) {
    if (is_on_gpu(x)) return at::cat({x, y}, 1).contiguous(context.layout);
    return JoinFunction::apply(x, y, context.layout);
  });
}

}  // namespace voxcycle
