// SPDX-License-Identifier: BSD-3-Clause
#include "network/layers/conv_rehearsal.hpp"

#include "voxcycle/core/rehearsal.hpp"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>

namespace voxcycle::conv_rehearsal {
namespace {

std::int64_t voxels_of(at::Tensor const& x) {
  return x.size(2) * x.size(3) * x.size(4);
}

std::int64_t rounded_up(std::int64_t number, std::int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

/// Held for as long as the tensor lives.
at::Tensor workspace(at::Tensor const& like, std::int64_t bytes) {
  return at::empty({bytes}, like.options().dtype(at::kByte));
}

/// As float64 comes back from torch's own loops, in its default layout.
at::Tensor made_like(at::Tensor const& x, at::IntArrayRef sizes) {
  auto const layout =
      x.scalar_type() == at::kDouble ? at::MemoryFormat::Contiguous : x.suggest_memory_format();
  return at::empty(sizes, x.options().memory_format(layout));
}

/// Torch's own loops, which float64 goes through on a CPU and a lone float32 sample of few values,
/// unless the caller takes it past them: the whole micro-batch as a matrix with a column of kernel
/// values for each voxel, beside plain copies of the features.
std::int64_t columns_of(Geometry const& g, at::Tensor const& x, at::Tensor const& y) {
  std::int64_t const taps = g.kernel * g.kernel * g.kernel;
  std::int64_t const values = g.transposed ? y.size(1) * voxels_of(x) : x.size(1) * voxels_of(y);
  return x.size(0) * taps * values * x.element_size();
}
std::int64_t plain_copy_of(at::Tensor const& x) {
  return x.size(1) > 1 ? x.numel() * x.element_size() : 0;
}

/// oneDNN's gradient of bf16 weights: for each thread one sample's features and gradients,
/// transposed, channels in blocks of 16 and rows of the finer field in tiles of 32 voxels. Found by
/// measuring (AMX and AVX-512 BF16, oneDNN of torch 2.11), from 32^3 on to within a twentieth.
std::int64_t transposed_by_onednn(Geometry const& g, at::Tensor const& x, at::Tensor const& y) {
  at::Tensor const& fine = g.transposed ? y : x;
  at::Tensor const& other = g.transposed ? x : y;
  std::int64_t const length = fine.size(4);
  std::int64_t const row =
      g.stride > 1 ? std::max<std::int64_t>(64, length) : rounded_up(length + 2, 32);
  return Rehearsal::current()->machine().threads * fine.element_size() *
         (rounded_up(fine.size(1), 16) * fine.size(2) * fine.size(3) * row +
          rounded_up(other.size(1), 16) * voxels_of(other));
}

bool goes_through_loops(at::Tensor const& x) {
  constexpr std::int64_t few = 20480;
  bool const lone = x.size(0) == 1 && x.size(1) * x.size(2) * x.size(3) <= few;
  return x.scalar_type() == at::kDouble || (x.scalar_type() == at::kFloat && lone);
}

/// Workspaces of cuDNN count among those of all libraries.
std::int64_t forward_workspace(Geometry const& g, at::Tensor const& x, at::Tensor const& y) {
  bool const past_loops = x.scalar_type() == at::kFloat && !g.transposed;
  if (is_on_gpu(x) || past_loops || !goes_through_loops(x)) return 0;
  return columns_of(g, x, y) + plain_copy_of(x);
}

std::int64_t backward_workspace(Geometry const& g, at::Tensor const& x, at::Tensor const& y,
                                bool needs_w) {
  if (is_on_gpu(x)) return 0;
  if (x.scalar_type() == at::kBFloat16) return needs_w ? transposed_by_onednn(g, x, y) : 0;
  return goes_through_loops(x) ? columns_of(g, x, y) + plain_copy_of(x) + plain_copy_of(y) : 0;
}

}  // namespace

at::Tensor forward(Geometry const& g, at::Tensor const& x, at::Tensor const& w) {
  std::vector<std::int64_t> sizes{x.size(0), w.size(g.transposed ? 1 : 0)};
  for (int axis = 0; axis < 3; ++axis) {
    std::int64_t const n = x.size(2 + axis), padding = g.padding[static_cast<std::size_t>(axis)];
    sizes.push_back(g.transposed ? (n - 1) * g.stride + g.kernel
                                 : (n + 2 * padding - g.kernel) / g.stride + 1);
  }
  at::Tensor y = made_like(x, sizes);
  workspace(x, forward_workspace(g, x, y));
  return y;
}

std::pair<at::Tensor, at::Tensor> backward(Geometry const& g, at::Tensor const& gradient,
                                           at::Tensor const& x, at::Tensor const& w, bool needs_x,
                                           bool needs_w) {
  at::Tensor const dx = needs_x ? made_like(x, x.sizes()) : at::Tensor();
  at::Tensor const dw = needs_w ? at::empty_like(w) : at::Tensor();
  workspace(x, backward_workspace(g, x, gradient, needs_w));
  return {dx, dw};
}

}  // namespace voxcycle::conv_rehearsal
