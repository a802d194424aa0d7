// SPDX-License-Identifier: BSD-3-Clause
#include "network/layers/library_conv.hpp"

#include "voxcycle/core/rehearsal.hpp"

#include <algorithm>
#include <vector>

#include "network/layers/channel_padding.hpp"
#include "network/layers/conv_rehearsal.hpp"
#include <ATen/ATen.h>

namespace voxcycle::library_conv {
namespace {

using slab_conv::goes_past_onednn;

/// Zeros that the library adds: along the axes that are not cut.
std::vector<std::int64_t> padding_of(Geometry const& g, int cut_axes) {
  std::vector<std::int64_t> padding{g.padding_x, g.padding, g.padding};
  std::fill_n(padding.begin(), cut_axes, 0);
  return padding;
}

/// Fields with as many channels as a weight that was filled up for a GPU.
at::Tensor input_like(Geometry const& g, at::Tensor const& w, at::Tensor const& x) {
  return is_on_gpu(x) ? channel_padding::filled_up(x, 1, w.size(g.transposed ? 0 : 1)) : x;
}
at::Tensor output_like(Geometry const& g, at::Tensor const& w, at::Tensor const& y) {
  return is_on_gpu(y) ? channel_padding::filled_up(y, 1, w.size(g.transposed ? 1 : 0)) : y;
}

conv_rehearsal::Geometry rehearsed(Geometry const& g, int cut_axes) {
  auto const padding = padding_of(g, cut_axes);
  return {g.kernel, g.stride, {padding[0], padding[1], padding[2]}, g.transposed};
}

/// Whether oneDNN adds zeros along x to fields in bf16. Around few planes it then fails, in torch
/// 2.11, on processors with AVX-512 BF16 but no AMX: ours take their place there.
bool onednn_adds_zeros(Geometry const& g, at::Tensor const& field, int cut_axes) {
  return cut_axes == 0 && g.padding_x > 0 && !g.transposed && field.is_cpu() &&
         field.scalar_type() == at::kBFloat16;
}
at::Tensor with_zeros(Geometry const& g, at::Tensor const& x) {
  return at::constant_pad_nd(x, {0, 0, 0, 0, g.padding_x, g.padding_x})
      .contiguous(at::MemoryFormat::ChannelsLast3d);
}

/// Whether its convolution reads memory that nobody wrote: that of one plane of one channel.
bool reads_beyond(Geometry const& g, at::Tensor const& x, int cut_axes) {
  return x.size(1) == 1 && x.size(2) == 1 && onednn_adds_zeros(g, x, cut_axes);
}
/// Whether its weight gradient is garbage: that of two planes of results.
bool is_garbled(Geometry const& g, at::Tensor const& gradient, int cut_axes) {
  return gradient.size(2) == 2 && onednn_adds_zeros(g, gradient, cut_axes);
}

at::Tensor twice(at::Tensor const& x) {
  return at::cat({x, x}).contiguous(x.suggest_memory_format());
}

/// Whether a convolution goes through float32 and rounds its result: in float16 on CPUs, of which
/// few multiply such numbers. A GPU does the same with sums in float32.
bool rounds_float32(at::Tensor const& field) {
  return !is_on_gpu(field) && field.scalar_type() == at::kHalf;
}

at::Tensor library_gradient(Geometry const& g, at::Tensor const& gradient, at::Tensor const& x,
                            at::Tensor const& w, int cut_axes, Wanted wanted) {
  if (rounds_float32(x)) {
    return library_gradient(g, gradient.to(at::kFloat), x.to(at::kFloat), w.to(at::kFloat),
                            cut_axes, wanted)
        .to(at::kHalf);
  }
  bool const of_x = wanted == Wanted::x;
  if (of_x && goes_past_onednn(x))
    return library_gradient(g, twice(gradient), twice(x), w, cut_axes, wanted).narrow(0, 0, 1);
  if (x.is_meta()) {
    return of_x ? conv_rehearsal::input_gradient(rehearsed(g, cut_axes), gradient, x)
                : conv_rehearsal::weight_gradient(rehearsed(g, cut_axes), gradient, x, w);
  }
  std::vector<std::int64_t> const stride(3, g.stride), padding = padding_of(g, cut_axes);
  auto const [dx, dw, db] =
      at::convolution_backward(gradient, x, w, at::OptionalIntArrayRef(), stride, padding,
                               {1, 1, 1}, g.transposed, {0, 0, 0}, 1, {of_x, !of_x, false});
  return of_x ? dx : dw;
}

}  // namespace

at::Tensor convolve(Geometry const& g, at::Tensor const& field, at::Tensor const& w,
                    std::optional<at::Tensor> const& b, int cut_axes) {
  if (rounds_float32(field)) {
    auto const bias = b ? std::optional<at::Tensor>(b->to(at::kFloat)) : std::nullopt;
    return convolve(g, field.to(at::kFloat), w.to(at::kFloat), bias, cut_axes).to(at::kHalf);
  }
  at::Tensor const x = input_like(g, w, field);
  bool const past_onednn = goes_past_onednn(x);
  if (past_onednn && g.transposed) return convolve(g, twice(x), w, b, cut_axes).narrow(0, 0, 1);
  if (x.is_meta()) return conv_rehearsal::forward(rehearsed(g, cut_axes), x, w);
  if (reads_beyond(g, x, cut_axes)) {
    return convolve(g, with_zeros(g, x), w, b, 1);
  }
  std::vector<std::int64_t> const stride(3, g.stride), padding = padding_of(g, cut_axes);
  if (past_onednn) return at::mkldnn_convolution(x, w, b, padding, stride, {1, 1, 1}, 1);
  return at::convolution(x, w, b, stride, padding, {1, 1, 1}, g.transposed, {0, 0, 0}, 1);
}

at::Tensor differentiate(Geometry const& g, at::Tensor const& gradient, at::Tensor const& x,
                         at::Tensor const& w, int cut_axes, Wanted wanted) {
  if (wanted == Wanted::w && is_garbled(g, gradient, cut_axes))
    return differentiate(g, gradient, with_zeros(g, x), w, 1, wanted);
  at::Tensor const found =
      library_gradient(g, output_like(g, w, gradient), input_like(g, w, x), w, cut_axes, wanted);
  return wanted == Wanted::x ? channel_padding::cut_back(found, 1, x.size(1)) : found;
}

}  // namespace voxcycle::library_conv
