// SPDX-License-Identifier: BSD-3-Clause
#include "network/layers/slab_conv.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/rehearsal.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "network/layers/channel_padding.hpp"
#include "network/layers/coarse_gradients.hpp"
#include "network/layers/library_conv.hpp"
#include <ATen/ATen.h>

namespace voxcycle::slab_conv {
namespace {

using library_conv::convolve;
using library_conv::differentiate;
using library_conv::Wanted;

constexpr auto kLayout = at::MemoryFormat::ChannelsLast3d;

/// Indices along one axis, 2 for planes or 3 for rows; some may lie outside and are then zero.
struct Range {
  std::int64_t begin, end;
};

at::Tensor part_of(at::Tensor const& x, Range const& range, std::int64_t axis = 2) {
  std::int64_t const first = std::max<std::int64_t>(range.begin, 0);
  std::int64_t const last = std::min(range.end, x.size(axis));
  at::Tensor const inside = x.narrow(axis, first, last - first);
  std::int64_t const before = first - range.begin, behind = range.end - last;
  if (before == 0 && behind == 0) return inside;
  std::vector<std::int64_t> padding(static_cast<std::size_t>(2 * (5 - axis)), 0);
  padding[padding.size() - 2] = before;
  padding[padding.size() - 1] = behind;
  return at::constant_pad_nd(inside, padding).contiguous(kLayout);
}

/// All channels of x.
at::Tensor joined(at::TensorList x) {
  return x.size() == 1 ? x.front() : at::cat(x, 1).contiguous(x.front().suggest_memory_format());
}

at::Tensor sample_of(at::Tensor const& x, std::int64_t n) {
  return x.narrow(0, n, 1);
}

/// All channels of planes of one sample.
at::Tensor planes_of(at::TensorList x, std::int64_t n, Range const& range) {
  std::vector<at::Tensor> parts;
  for (auto const& part : x) parts.push_back(part_of(sample_of(part, n), range));
  return joined(parts);
}

/// Writes all channels of planes of one sample.
void set_planes(std::vector<at::Tensor> const& x, std::int64_t n, Range const& range,
                at::Tensor const& values) {
  std::int64_t first = 0;
  for (auto const& part : x) {
    std::int64_t const channels = part.size(1);
    sample_of(part, n)
        .narrow(2, range.begin, range.end - range.begin)
        .copy_(values.narrow(1, first, channels));
    first += channels;
  }
}

/// What one slab reads and writes.
struct Slab {
  Range x, y;
};

/// [0, count) in ranges of `part` or a few more: oneDNN's weight gradients crash on some slabs of
/// one plane, as would be left of the 129 planes of the nodes of 128 voxels.
std::vector<Range> cut(std::int64_t count, std::int64_t part) {
  std::int64_t const parts = std::max<std::int64_t>(1, count / part);
  std::vector<Range> ranges;
  for (std::int64_t k = 0; k < parts; ++k) {
    ranges.push_back({count * k / parts, count * (k + 1) / parts});
  }
  return ranges;
}

/// The parts of one sample along one axis. Without overlap each index of x belongs to one.
std::vector<Slab> slabs_of(Geometry const& g, std::int64_t padding, std::int64_t x_size,
                           std::int64_t y_size, std::int64_t part) {
  std::vector<Slab> slabs;
  std::int64_t const count = g.transposed ? x_size : y_size;
  for (Range const& one : cut(count, part)) {
    Range const other{one.begin * g.stride - padding,
                      (one.end - 1) * g.stride + g.kernel - padding};
    slabs.push_back(g.transposed ? Slab{one, other} : Slab{other, one});
  }
  return slabs;
}

bool overlap(Geometry const& g) {
  return g.kernel > g.stride;
}

/// Planes `fine` of the finer field, to which the kernels of planes `coarse` add up; those reach
/// `reached`, where beyond `fine` sums lack terms and are cut off.
struct Sums {
  Range fine, coarse, reached;
};
std::vector<Sums> overlapping_sums(Geometry const& g, std::int64_t fine_size, std::int64_t part) {
  std::vector<Sums> all;
  std::int64_t const s = g.stride, p = g.padding_x;
  for (Range const& one : cut(fine_size / s, part)) {
    Range const fine{one.begin * s, one.end * s};
    Range const coarse{(fine.begin + p - g.kernel + 1) / s, (fine.end - 1 + p) / s + 1};
    all.push_back({fine, coarse, {coarse.begin * s - p, (coarse.end - 1) * s + g.kernel - p}});
  }
  return all;
}

at::Tensor part_of(Sums const& sums, at::Tensor const& reached) {
  return reached.narrow(2, sums.fine.begin - sums.reached.begin, sums.fine.end - sums.fine.begin);
}

std::int64_t voxels_of(at::Tensor const& x) {
  return x.size(2) * x.size(3) * x.size(4);
}

std::vector<std::int64_t> output_sizes(Geometry const& g, at::Tensor const& x,
                                       at::Tensor const& w) {
  std::vector<std::int64_t> sizes{x.size(0), g.transposed ? w.size(1) : w.size(0)};
  for (int axis = 2; axis < 5; ++axis) {
    std::int64_t const n = x.size(axis);
    std::int64_t const padding = axis == 2 ? g.padding_x : g.padding;
    sizes.push_back(g.transposed ? (n - 1) * g.stride + g.kernel - 2 * padding
                                 : (n + 2 * padding - g.kernel) / g.stride + 1);
  }
  return sizes;
}

}  // namespace

Geometry::Geometry(ConvKind kind, Ends ends) {
  switch (kind) {
    case ConvKind::point:
      break;
    case ConvKind::same:
      kernel = 3;
      padding = 1;
      break;
    case ConvKind::down:
    case ConvKind::up:
      kernel = stride = 2;
      transposed = kind == ConvKind::up;
      break;
    case ConvKind::wide_down:
    case ConvKind::wide_up:
      kernel = 4;
      stride = 2;
      padding = 1;
      transposed = kind == ConvKind::wide_up;
      break;
    case ConvKind::node:
      kernel = 2;
      padding = 1;
      break;
  }
  padding_x = ends == Ends::given ? 0 : padding;
}

at::Tensor forward_whole(Geometry const& g, at::TensorList x, at::Tensor const& w,
                         std::optional<at::Tensor> const& b) {
  return convolve(g, joined(x), w, b, 0);
}

at::Tensor forward_in_slabs(Geometry const& g, at::TensorList x, at::Tensor const& w,
                            std::optional<at::Tensor> const& b, std::int64_t planes) {
  at::Tensor const& like = x.front();
  at::Tensor y = at::empty(output_sizes(g, like, w), like.options().memory_format(kLayout));
  for (std::int64_t n = 0; n < y.size(0); ++n) {
    if (g.transposed && overlap(g)) {
      for (auto const& sums : overlapping_sums(g, y.size(2), planes)) {
        set_planes({y}, n, sums.fine,
                   part_of(sums, convolve(g, planes_of(x, n, sums.coarse), w, b, 1)));
      }
      continue;
    }
    for (auto const& slab : slabs_of(g, g.padding_x, like.size(2), y.size(2), planes)) {
      set_planes({y}, n, slab.y, convolve(g, planes_of(x, n, slab.x), w, b, 1));
    }
  }
  return y;
}

std::vector<at::Tensor> input_gradient_in_slabs(Geometry const& g, at::Tensor const& gradient,
                                                at::TensorList x, at::Tensor const& w,
                                                std::int64_t planes) {
  std::vector<at::Tensor> dx;
  for (auto const& part : x) {
    dx.push_back(at::empty(part.sizes(), part.options().memory_format(kLayout)));
  }
  auto const part_of_gradient = [&](std::int64_t n, Slab const& slab) {
    return differentiate(g, part_of(sample_of(gradient, n), slab.y), planes_of(x, n, slab.x), w, 1,
                         Wanted::x);
  };
  std::int64_t const count = x.front().size(2);
  for (std::int64_t n = 0; n < gradient.size(0); ++n) {
    if (g.transposed || !overlap(g)) {
      for (auto const& slab : slabs_of(g, g.padding_x, count, gradient.size(2), planes)) {
        set_planes(dx, n, slab.x, part_of_gradient(n, slab));
      }
      continue;
    }
    for (auto const& sums : overlapping_sums(g, count, planes)) {
      set_planes(dx, n, sums.fine, part_of(sums, part_of_gradient(n, {sums.reached, sums.coarse})));
    }
  }
  return dx;
}

at::Tensor weight_gradient_in_slabs(Geometry const& g, at::Tensor const& gradient, at::TensorList x,
                                    at::Tensor const& w, std::int64_t planes, std::int64_t rows) {
  auto const type = w.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  at::Tensor dw = at::zeros_like(w, w.options().dtype(type));
  at::Tensor const& like = x.front();
  auto const slabs = slabs_of(g, g.padding_x, like.size(2), gradient.size(2), planes);
  auto const strips = slabs_of(g, g.padding, like.size(3), gradient.size(3), rows);
  for (std::int64_t n = 0; n < gradient.size(0); ++n) {
    for (auto const& slab : slabs) {
      if (is_on_gpu(gradient) && slabs.size() == 1 && strips.size() == 1) {
        std::vector<at::Tensor> sample;
        for (auto const& part : x) sample.push_back(sample_of(part, n));
        dw.add_(differentiate(g, sample_of(gradient, n), joined(sample), w, 0, Wanted::w));
        continue;
      }
      at::Tensor const x_slab = planes_of(x, n, slab.x);
      at::Tensor const y_slab = part_of(sample_of(gradient, n), slab.y);
      if (is_on_gpu(gradient) && strips.size() == 1) {
        dw.add_(differentiate(g, y_slab, x_slab, w, 1, Wanted::w));
        continue;
      }
      for (auto const& strip : strips) {
        at::Tensor const x_part = part_of(x_slab, strip.x, 3).contiguous(kLayout);
        at::Tensor const y_part = part_of(y_slab, strip.y, 3).contiguous(kLayout);
        dw.add_(differentiate(g, y_part, x_part, w, 2, Wanted::w));
      }
    }
  }
  return dw;
}

std::int64_t planes_in_sum(std::int64_t planes, std::int64_t plane_voxels) {
  std::int64_t const parts = (planes * plane_voxels + max_in_sum - 1) / max_in_sum;
  return std::max<std::int64_t>(1, planes / parts);
}

bool goes_past_onednn(at::Tensor const& x) {
  constexpr std::int64_t few_rows = 20480;
  return !is_on_gpu(x) && x.size(0) == 1 && x.scalar_type() == at::kFloat && at::hasMKLDNN() &&
         x.numel() / x.size(4) <= few_rows;
}

bool goes_in_slabs(at::TensorList x, std::int64_t shares) {
  at::Tensor const& first = x.front();
  std::int64_t channels = 0;
  for (auto const& part : x) channels += part.size(1);
  std::int64_t const seen = channel_padding::seen(channels, first.element_size());
  std::int64_t const elements = first.size(0) * seen * voxels_of(first);
  // Slabs are cut out of channels-last fields without copies.
  return std::all_of(x.begin(), x.end(), [&](at::Tensor const& part) {
    bool const is_large =
        is_on_gpu(part) ? elements > kMaxElements : voxels_of(part) * shares >= many_voxels;
    return part.size(0) > 0 && part.is_contiguous(kLayout) && is_large;
  });
}

at::Tensor forward(Geometry const& g, at::TensorList x, at::Tensor const& w,
                   std::optional<at::Tensor> const& b) {
  return goes_in_slabs(x) ? forward_in_slabs(g, x, w, b, default_planes)
                          : forward_whole(g, x, w, b);
}

std::vector<at::Tensor> input_gradient(Geometry const& g, at::Tensor const& gradient,
                                       at::TensorList x, at::Tensor const& w) {
  if (goes_in_slabs(x)) return input_gradient_in_slabs(g, gradient, x, w, default_planes);
  std::vector<std::int64_t> channels;
  for (auto const& part : x) channels.push_back(part.size(1));
  at::Tensor dx = differentiate(g, gradient, joined(x), w, 0, Wanted::x);
  if (x.size() == 1) return {std::move(dx)};
  return at::split_with_sizes(dx, channels, 1);
}

at::Tensor weight_gradient(Geometry const& g, at::Tensor const& gradient, at::TensorList x,
                           at::Tensor const& w) {
  if (goes_in_slabs(x, g.shares)) {
    std::int64_t const rows = std::max<std::int64_t>(8, max_in_plane / gradient.size(4));
    return weight_gradient_in_slabs(g, gradient, x, w, default_planes, rows);
  }
  at::Tensor const& summed = g.transposed ? x.front() : gradient;
  if (is_on_gpu(gradient) && summed.size(0) * voxels_of(summed) > max_in_sum) {
    std::int64_t const planes = planes_in_sum(summed.size(2), summed.size(3) * summed.size(4));
    return weight_gradient_in_slabs(g, gradient, x, w, planes, summed.size(3));
  }
  return differentiate(g, gradient, joined(x), w, 0, Wanted::w);
}

std::vector<at::Tensor> weight_gradients(Geometry const& g, at::Tensor const& gradient,
                                         at::TensorList x, at::Tensor const& w,
                                         std::int64_t micro_batch_size) {
  if (x.size() == 1 && coarse_gradients::are_wanted(g, gradient, x.front(), w))
    return coarse_gradients::of_weight(g, gradient, x.front(), w, micro_batch_size);
  std::vector<at::Tensor> all;
  for (std::int64_t first = 0; first < gradient.size(0); first += micro_batch_size) {
    std::int64_t const count = std::min(micro_batch_size, gradient.size(0) - first);
    std::vector<at::Tensor> samples;
    for (auto const& part : x) samples.push_back(part.narrow(0, first, count));
    all.push_back(weight_gradient(g, gradient.narrow(0, first, count), samples, w));
  }
  return all;
}

}  // namespace voxcycle::slab_conv
