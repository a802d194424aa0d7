// SPDX-License-Identifier: BSD-3-Clause
#include "network/layers/channel_padding.hpp"

#include "voxcycle/core/rehearsal.hpp"

#include <ATen/ATen.h>

namespace voxcycle::channel_padding {

bool is_wanted(at::Tensor const& x, at::Tensor const& w) {
  return is_on_gpu(x) && x.element_size() == 2 &&
         (w.size(0) % multiple != 0 || w.size(1) % multiple != 0);
}

at::Tensor filled_up(at::Tensor const& x, std::int64_t axis, std::int64_t channels) {
  if (x.size(axis) == channels) return x;
  auto sizes = x.sizes().vec();
  sizes.at(static_cast<std::size_t>(axis)) = channels;
  auto const layout =
      x.dim() == 5 ? at::MemoryFormat::ChannelsLast3d : at::MemoryFormat::Contiguous;
  at::Tensor y = at::empty(sizes, x.options().memory_format(layout)).zero_();
  y.narrow(axis, 0, x.size(axis)).copy_(x);
  return y;
}

at::Tensor filled_up_weight(at::Tensor const& w) {
  return filled_up(filled_up(w, 0, filled_up(w.size(0))), 1, filled_up(w.size(1)));
}

at::Tensor cut_back(at::Tensor const& x, std::int64_t axis, std::int64_t channels) {
  if (x.size(axis) == channels) return x;
  return x.narrow(axis, 0, channels).contiguous(at::MemoryFormat::ChannelsLast3d);
}

at::Tensor cut_back_weight(at::Tensor const& dw, at::Tensor const& weight) {
  return cut_back(cut_back(dw, 0, weight.size(0)), 1, weight.size(1));
}

}  // namespace voxcycle::channel_padding
