// SPDX-License-Identifier: BSD-3-Clause
#include "network/layers/conv_rehearsal.hpp"

#include "voxcycle/core/rehearsal.hpp"

#include <algorithm>
#include <vector>

#include "network/layers/slab_conv.hpp"
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

/// Torch's own loops, which float64 goes through on a CPU, and what goes past oneDNN: the whole
/// micro-batch as a matrix with a column of kernel values for each voxel, beside plain copies of
/// the features.
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

/// Workspaces of cuDNN count among those of all libraries.
bool is_double_on_cpu(at::Tensor const& x) {
  return !is_on_gpu(x) && x.scalar_type() == at::kDouble;
}

/// Of a gradient by torch's own loops.
void loop_workspace(Geometry const& g, at::Tensor const& x, at::Tensor const& gradient) {
  workspace(x, columns_of(g, x, gradient) + plain_copy_of(x) + plain_copy_of(gradient));
}

}  // namespace

at::Tensor forward(Geometry const& g, at::Tensor const& x, at::Tensor const& w) {
  std::vector<std::int64_t> sizes{x.size(0), w.size(g.transposed ? 1 : 0)};
  for (int axis = 0; axis < 3; ++axis) {
    std::int64_t const n = x.size(2 + axis), padding = g.padding[static_cast<std::size_t>(axis)];
    sizes.push_back(g.transposed ? (n - 1) * g.stride + g.kernel - 2 * padding
                                 : (n + 2 * padding - g.kernel) / g.stride + 1);
  }
  at::Tensor y = made_like(x, sizes);
  if (is_double_on_cpu(x)) workspace(x, columns_of(g, x, y) + plain_copy_of(x));
  return y;
}

at::Tensor input_gradient(Geometry const& g, at::Tensor const& gradient, at::Tensor const& x) {
  at::Tensor dx = made_like(x, x.sizes());
  if (is_double_on_cpu(x)) loop_workspace(g, x, gradient);
  return dx;
}

at::Tensor weight_gradient(Geometry const& g, at::Tensor const& gradient, at::Tensor const& x,
                           at::Tensor const& w) {
  at::Tensor dw = at::empty_like(w);
  if (is_double_on_cpu(x) || slab_conv::goes_past_onednn(x)) {
    loop_workspace(g, x, gradient);
  } else if (!is_on_gpu(x) && x.scalar_type() == at::kBFloat16) {
    workspace(x, transposed_by_onednn(g, x, gradient));
  }
  return dw;
}

}  // namespace voxcycle::conv_rehearsal
