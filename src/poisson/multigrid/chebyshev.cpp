// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/multigrid/chebyshev.hpp"

#include "voxcycle/poisson/parallel.hpp"
#include "voxcycle/poisson/sample_sums.hpp"

#include <algorithm>

#include "poisson/operator/device.hpp"
#include "poisson/operator/row_loops.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

template <class T>
void update(ChebyshevStep const& step, T const* weights, T const* b, T const* k_x, T* d, T* x,
            std::int64_t count) {
  T const keep = static_cast<T>(step.keep), take = static_cast<T>(step.take);
  auto const& loops = row_loops::loops<T>();
  parallel_for(sum_chunks(count), sum_chunk_size, [&](auto begin, auto end) {
    std::int64_t const i = begin * sum_chunk_size, last = std::min(count, end * sum_chunk_size);
    loops.chebyshev(keep, take, weights + i, b + i, k_x + i, d + i, x + i, last - i);
  });
}

}  // namespace

at::Tensor jacobi_weights(LevelOperator const& op, at::Tensor const& mask) {
  at::Tensor const d = op.diagonal();
  return d.mul_(as_factor(op.top(), d.scalar_type())).reciprocal_().mul_(mask);
}

at::Tensor chebyshev(LevelOperator const& op, at::Tensor const& weights, at::Tensor x,
                     at::Tensor const& b, ChebyshevSteps const& steps) {
  at::Tensor d;
  Space const& space = op.space();
  std::int64_t wrong = 0;  // planes at faces that cut the grid
  for (auto const& step : steps) {
    if (!x.defined()) {
      d = at::mul(weights, b).mul_(step.take);
      x = d.clone();
      continue;
    }
    if (!d.defined()) d = x.is_cuda() ? at::empty_like(x) : at::zeros_like(x);
    if (wrong++ == space.slab().halo) {
      space.refresh_nodes(x);
      space.refresh_nodes(d);
      wrong = 1;
    }
    at::Tensor const k_x = op.apply(x);
    if (x.is_cuda()) {
      on_gpu::chebyshev_step(step.keep, step.take, weights, b, k_x, d, x);
      continue;
    }
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "chebyshev", [&] {
      update(step, weights.const_data_ptr<scalar_t>(), b.const_data_ptr<scalar_t>(),
             k_x.const_data_ptr<scalar_t>(), d.mutable_data_ptr<scalar_t>(),
             x.mutable_data_ptr<scalar_t>(), x.numel());
    });
  }
  return x;
}

}  // namespace voxcycle
