// SPDX-License-Identifier: BSD-3-Clause
#include "network/slab_conv.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>

namespace voxcycle::slab_conv {
namespace {

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

/// Zeros that the library adds: along the axes that are not cut.
std::vector<std::int64_t> padding_of(Geometry const& g, int cut_axes) {
  std::vector<std::int64_t> padding(3, g.padding);
  std::fill_n(padding.begin(), cut_axes, 0);
  return padding;
}

at::Tensor convolve(Geometry const& g, at::Tensor const& x, at::Tensor const& w,
                    std::optional<at::Tensor> const& b, int cut_axes) {
  std::vector<std::int64_t> const stride(3, g.stride), padding = padding_of(g, cut_axes);
  // torch takes a lone float32 sample of few values (n c x y <= 20480) past oneDNN, through a loop
  // many times slower.
  bool const past_onednn = x.size(0) == 1 && x.scalar_type() == at::kFloat && x.device().is_cpu();
  if (past_onednn && !g.transposed && at::hasMKLDNN()) {
    return at::mkldnn_convolution(x, w, b, padding, stride, {1, 1, 1}, 1);
  }
  return at::convolution(x, w, b, stride, padding, {1, 1, 1}, g.transposed, {0, 0, 0}, 1);
}

struct Wanted {
  bool x, w;
};

Gradients differentiate(Geometry const& g, at::Tensor const& slope, at::Tensor const& x,
                        at::Tensor const& w, int cut_axes, Wanted wanted) {
  std::vector<std::int64_t> const stride(3, g.stride), padding = padding_of(g, cut_axes);
  auto [dx, dw, db] =
      at::convolution_backward(slope, x, w, at::OptionalIntArrayRef(), stride, padding, {1, 1, 1},
                               g.transposed, {0, 0, 0}, 1, {wanted.x, wanted.w, false});
  return {dx, dw};
}

/// What one slab reads and writes.
struct Slab {
  Range x, y;
};

/// [0, count) in ranges of `planes` or a few more: oneDNN's weight gradients crash on some slabs of
/// one plane, as would be left of the 129 planes of the nodes of 128 voxels.
std::vector<Range> cut(std::int64_t count, std::int64_t planes) {
  std::int64_t const parts = std::max<std::int64_t>(1, count / planes);
  std::vector<Range> ranges;
  for (std::int64_t k = 0; k < parts; ++k) {
    ranges.push_back({count * k / parts, count * (k + 1) / parts});
  }
  return ranges;
}

/// The parts of one sample along one axis. Without overlap each index of x belongs to one.
std::vector<Slab> slabs_of(Geometry const& g, std::int64_t x_size, std::int64_t y_size,
                           std::int64_t part) {
  std::vector<Slab> slabs;
  std::int64_t const count = g.transposed ? x_size : y_size;
  for (Range const& one : cut(count, part)) {
    Range const other{one.begin * g.stride - g.padding,
                      (one.end - 1) * g.stride + g.kernel - g.padding};
    slabs.push_back(g.transposed ? Slab{one, other} : Slab{other, one});
  }
  return slabs;
}

bool overlap(Geometry const& g) {
  return g.kernel > g.stride;
}

std::int64_t voxels_of(at::Tensor const& x) {
  return x.size(2) * x.size(3) * x.size(4);
}

/// Slabs are cut out of channels-last fields without copies.
bool goes_in_slabs(at::Tensor const& x) {
  return x.size(0) > 0 && x.is_contiguous(kLayout) && voxels_of(x) >= many_voxels;
}

/// Calls body(n, sample n of a, sample n of b).
template <class Body>
void each_sample(at::Tensor const& a, at::Tensor const& b, Body const& body) {
  for (std::int64_t n = 0; n < a.size(0); ++n) body(a.narrow(0, n, 1), b.narrow(0, n, 1));
}

std::vector<std::int64_t> output_sizes(Geometry const& g, at::Tensor const& x,
                                       at::Tensor const& w) {
  std::vector<std::int64_t> sizes{x.size(0), g.transposed ? w.size(1) : w.size(0)};
  for (int axis = 2; axis < 5; ++axis) {
    std::int64_t const n = x.size(axis);
    sizes.push_back(g.transposed ? (n - 1) * g.stride + g.kernel
                                 : (n + 2 * g.padding - g.kernel) / g.stride + 1);
  }
  return sizes;
}

}  // namespace

Geometry geometry_of(ConvKind kind) {
  switch (kind) {
    case ConvKind::same:
      return {3, 1, 1, false};
    case ConvKind::down:
      return {2, 2, 0, false};
    case ConvKind::up:
      return {2, 2, 0, true};
    case ConvKind::node:
      return {2, 1, 1, false};
  }
  throw Error("unknown kind of convolution.");
}

at::Tensor forward_whole(ConvKind kind, at::Tensor const& x, at::Tensor const& w,
                         std::optional<at::Tensor> const& b) {
  Geometry const g = geometry_of(kind);
  return convolve(g, x, w, b, 0);
}

at::Tensor forward_in_slabs(ConvKind kind, at::Tensor const& x, at::Tensor const& w,
                            std::optional<at::Tensor> const& b, std::int64_t planes) {
  Geometry const g = geometry_of(kind);
  at::Tensor y = at::empty(output_sizes(g, x, w), x.options().memory_format(kLayout));
  auto const slabs = slabs_of(g, x.size(2), y.size(2), planes);
  each_sample(x, y, [&](at::Tensor const& from, at::Tensor const& to) {
    for (auto const& slab : slabs) {
      to.narrow(2, slab.y.begin, slab.y.end - slab.y.begin)
          .copy_(convolve(g, part_of(from, slab.x), w, b, 1));
    }
  });
  return y;
}

at::Tensor input_gradient_in_slabs(ConvKind kind, at::Tensor const& slope, at::Tensor const& x,
                                   at::Tensor const& w, std::int64_t planes) {
  Geometry const g = geometry_of(kind);
  at::Tensor dx = at::empty(x.sizes(), x.options().memory_format(kLayout));
  for (std::int64_t n = 0; n < x.size(0); ++n) {
    at::Tensor const from = x.narrow(0, n, 1), dy = slope.narrow(0, n, 1), to = dx.narrow(0, n, 1);
    if (!overlap(g)) {
      for (auto const& slab : slabs_of(g, x.size(2), slope.size(2), planes)) {
        auto const part = differentiate(g, part_of(dy, slab.y), part_of(from, slab.x), w, 1,
                                        {.x = true, .w = false});
        to.narrow(2, slab.x.begin, slab.x.end - slab.x.begin).copy_(part.x);
      }
      continue;
    }
    // Plane i of x meets planes i + padding - kernel + 1 ... i + padding of y. These in turn reach
    // kernel - 1 planes beyond the slab on both sides, where their sums lack terms: cut off.
    std::int64_t const beyond = g.kernel - 1;
    for (auto const& [a, b] : cut(x.size(2), planes)) {
      auto const part =
          differentiate(g, part_of(dy, {a + g.padding - beyond, b + g.padding}),
                        part_of(from, {a - beyond, b + beyond}), w, 1, {.x = true, .w = false});
      to.narrow(2, a, b - a).copy_(part.x.narrow(2, beyond, b - a));
    }
  }
  return dx;
}

at::Tensor weight_gradient_in_slabs(ConvKind kind, at::Tensor const& slope, at::Tensor const& x,
                                    at::Tensor const& w, std::int64_t planes, std::int64_t rows) {
  Geometry const g = geometry_of(kind);
  auto const type = w.scalar_type() == at::kBFloat16 ? at::kFloat : w.scalar_type();
  at::Tensor dw = at::zeros_like(w, w.options().dtype(type));
  auto const slabs = slabs_of(g, x.size(2), slope.size(2), planes);
  auto const strips = slabs_of(g, x.size(3), slope.size(3), rows);
  each_sample(x, slope, [&](at::Tensor const& from, at::Tensor const& dy) {
    for (auto const& slab : slabs) {
      at::Tensor const x_slab = part_of(from, slab.x), y_slab = part_of(dy, slab.y);
      for (auto const& strip : strips) {
        at::Tensor const x_part = part_of(x_slab, strip.x, 3).contiguous(kLayout);
        at::Tensor const y_part = part_of(y_slab, strip.y, 3).contiguous(kLayout);
        dw.add_(differentiate(g, y_part, x_part, w, 2, {.x = false, .w = true}).w);
      }
    }
  });
  return dw;
}

at::Tensor forward(ConvKind kind, at::Tensor const& x, at::Tensor const& w,
                   std::optional<at::Tensor> const& b) {
  return goes_in_slabs(x) ? forward_in_slabs(kind, x, w, b, default_planes)
                          : forward_whole(kind, x, w, b);
}

Gradients backward(ConvKind kind, at::Tensor const& slope, at::Tensor const& x, at::Tensor const& w,
                   bool needs_x) {
  if (!goes_in_slabs(x)) {
    Geometry const g = geometry_of(kind);
    return differentiate(g, slope, x, w, 0, {.x = needs_x, .w = true});
  }
  std::int64_t const rows = std::max<std::int64_t>(8, most_in_plane / slope.size(4));
  return {needs_x ? input_gradient_in_slabs(kind, slope, x, w, default_planes) : at::Tensor(),
          weight_gradient_in_slabs(kind, slope, x, w, default_planes, rows)};
}

}  // namespace voxcycle::slab_conv
