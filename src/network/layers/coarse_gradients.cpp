// SPDX-License-Identifier: BSD-3-Clause
#include "network/layers/coarse_gradients.hpp"

#include "voxcycle/core/parallel.hpp"
#include "voxcycle/core/rehearsal.hpp"

#include <algorithm>

#include "network/layers/tap_sums.hpp"
#include <ATen/ATen.h>

namespace voxcycle::coarse_gradients {
namespace {

constexpr auto kLayout = at::MemoryFormat::ChannelsLast3d;

/// Voxels of a sample up to which it pays.
constexpr std::int64_t kMaxVoxels = 5 * 5 * 5;  // the nodes of 4^3

tap_sums::Field from_sample(at::Tensor const& x, std::int64_t first) {
  return {x.const_data_ptr<float>() + first * x.stride(0),
          {x.size(2), x.size(3), x.size(4)},
          x.size(1)};
}

/// The field that is summed up voxel by voxel, in the first channels of the weight.
at::Tensor const& summed(slab_conv::Geometry const& g, at::Tensor const& gradient,
                         at::Tensor const& x) {
  return g.transposed ? x : gradient;
}

}  // namespace

bool are_wanted(slab_conv::Geometry const& g, at::Tensor const& gradient, at::Tensor const& x,
                at::Tensor const& w) {
  at::Tensor const& a = summed(g, gradient, x);
  return !is_on_gpu(x) && x.scalar_type() != at::kDouble && w.is_contiguous(kLayout) &&
         x.is_contiguous(kLayout) && gradient.is_contiguous(kLayout) &&
         a.size(2) * a.size(3) * a.size(4) <= kMaxVoxels &&
         (w.size(0) % tap_sums::kLanes == 0 || w.size(1) % tap_sums::kLanes == 0);
}

std::vector<at::Tensor> of_weight(slab_conv::Geometry const& g, at::Tensor const& gradient,
                                  at::Tensor const& x, at::Tensor const& w,
                                  std::int64_t micro_batch_size) {
  at::Tensor const a = summed(g, gradient, x).to(at::kFloat);
  at::Tensor const b = (g.transposed ? gradient : x).to(at::kFloat);
  std::vector<at::Tensor> all;
  for (std::int64_t first = 0; first < a.size(0); first += micro_batch_size)
    all.push_back(at::empty_like(w, at::kFloat));
  if (x.is_meta()) return all;
  std::int64_t const taps = g.kernel * g.kernel * g.kernel;
  std::int64_t const work = micro_batch_size * a[0].numel() * b.size(1);
  parallel_for(std::ssize(all) * taps, work, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      std::int64_t const first = k / taps * micro_batch_size;
      std::int64_t const count = std::min(micro_batch_size, a.size(0) - first);
      tap_sums::Sums const of{from_sample(a, first),
                              from_sample(b, first),
                              count,
                              g.kernel,
                              g.stride,
                              {g.padding_x, g.padding, g.padding}};
      tap_sums::table().of_tap(of, k % taps, all[k / taps].mutable_data_ptr<float>());
    }
  });
  return all;
}

}  // namespace voxcycle::coarse_gradients
