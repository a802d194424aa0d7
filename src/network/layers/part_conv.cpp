// SPDX-License-Identifier: BSD-3-Clause
#include "network/layers/part_conv.hpp"

#include <utility>

#include <ATen/ATen.h>

namespace voxcycle::part_conv {
namespace {

using slab_conv::Geometry;

/// Planes of x with those next to them, and of y.
struct Part {
  Planes x, y;
};

/// Parts are those of the finer one of x and y.
std::vector<Part> parts_of(ForwardContext const& context, Geometry const& g) {
  std::vector<Part> parts;
  for (auto const& own : context.space->slab().own_parts()) {
    Planes const coarse{own.begin / g.stride, own.count / g.stride};
    if (g.transposed) {
      parts.push_back({coarse, own});
    } else {
      // Kernels of 2 on nodes (padding 1, stride 1) have one result more.
      std::int64_t const more = 2 * g.padding + 1 - g.kernel;
      parts.push_back({{own.begin, own.count + 2 * g.padding},
                       {coarse.begin, coarse.count + (g.padding > 0 ? more : 0)}});
    }
  }
  return parts;
}

at::Tensor planes_of(at::Tensor const& field, Planes const& planes) {
  return field.narrow(2, planes.begin, planes.count);
}

/// As densely as where a process has this part alone.
at::Tensor part_of(at::Tensor const& field, Planes const& planes) {
  return planes_of(field, planes).contiguous(field.suggest_memory_format());
}

std::vector<at::Tensor> part_of(at::TensorList x, Planes const& planes) {
  std::vector<at::Tensor> parts;
  for (auto const& channels : x) parts.push_back(part_of(channels, planes));
  return parts;
}

at::Tensor with_planes(at::Tensor const& like, std::int64_t planes) {
  auto sizes = like.sizes().vec();
  sizes[2] = planes;
  return at::empty(sizes, like.options().memory_format(like.suggest_memory_format()));
}

/// Results that two parts have count for the latter, as between processes.
at::Tensor gradient_of(at::Tensor const& gradient, std::vector<Part> const& parts, std::size_t k) {
  at::Tensor const own = part_of(gradient, parts[k].y);
  bool const is_shared =
      k + 1 < parts.size() && parts[k].y.begin + parts[k].y.count > parts[k + 1].y.begin;
  if (!is_shared) return own;
  at::Tensor const less = own.clone();
  less.select(2, less.size(2) - 1).zero_();
  return less;
}

}  // namespace

bool are_several(ForwardContext const& context) {
  return context.in_slabs() && context.space->slab().own_parts().size() > 1;
}

at::Tensor forward(ForwardContext const& context, Geometry const& g, at::TensorList x,
                   at::Tensor const& w, std::optional<at::Tensor> const& b) {
  auto const parts = parts_of(context, g);
  at::Tensor y;
  for (auto const& part : parts) {
    at::Tensor const values = slab_conv::forward(g, part_of(x, part.x), w, b);
    if (!y.defined()) y = with_planes(values, parts.back().y.begin + parts.back().y.count);
    planes_of(y, part.y).copy_(values);
  }
  return y;
}

std::vector<at::Tensor> input_gradient(ForwardContext const& context, Geometry const& g,
                                       at::Tensor const& gradient, at::TensorList x,
                                       at::Tensor const& w) {
  std::int64_t const beyond = g.padding;  // planes of others, on either side of a part
  auto const parts = parts_of(context, g);
  std::vector<at::Tensor> dx;
  for (auto const& channels : x) dx.push_back(at::empty_like(channels));
  std::vector<std::vector<at::Tensor>> of_parts;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    of_parts.push_back(
        slab_conv::input_gradient(g, gradient_of(gradient, parts, k), part_of(x, parts[k].x), w));
    for (std::size_t c = 0; c < x.size(); ++c) {
      at::Tensor& found = of_parts.back()[c];
      Planes const own{parts[k].x.begin + beyond, parts[k].x.count - 2 * beyond};
      planes_of(dx[c], own).copy_(planes_of(found, {beyond, own.count}));
      if (beyond == 0) continue;
      // What remains of it goes to the neighbours.
      found = at::stack({found.select(2, 0), found.select(2, found.size(2) - 1)});
    }
  }
  if (beyond == 0) return dx;
  for (std::size_t c = 0; c < x.size(); ++c) {
    auto const plane = [&](std::int64_t place) { return dx[c].select(2, place); };
    for (std::size_t k = 0; k < parts.size(); ++k) {
      auto const& [x_k, y_k] = parts[k];
      at::Tensor const before = of_parts[k][c][0], behind = of_parts[k][c][1];
      bool const is_last = k + 1 == parts.size();
      k == 0 ? plane(x_k.begin).copy_(before) : plane(x_k.begin).add_(before);
      std::int64_t const end = x_k.begin + x_k.count - 1;
      is_last ? plane(end).copy_(behind) : plane(end).add_(behind);
    }
  }
  return dx;
}

void for_terms(ForwardContext const& context, Geometry const& g, at::Tensor const& gradient,
               at::TensorList x,
               std::function<void(at::Tensor const& gradient, at::TensorList x)> const& take) {
  auto const parts = parts_of(context, g);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    take(gradient_of(gradient, parts, k), part_of(x, parts[k].x));
  }
}

}  // namespace voxcycle::part_conv
