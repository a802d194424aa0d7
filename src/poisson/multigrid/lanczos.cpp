// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/multigrid/lanczos.hpp"

#include "voxcycle/poisson/parallel.hpp"
#include "voxcycle/poisson/sample_sums.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "poisson/operator/device.hpp"
#include "poisson/operator/node_points.hpp"
#include "poisson/operator/row_loops.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

// other = scale K x - alpha y - beta^2 other, x = scale other; see LanczosJob.
void advance(on_gpu::LanczosSums const& sums, at::Tensor const& scale, at::Tensor const& k_x,
             at::Tensor const& y, at::Tensor const& other, at::Tensor const& x) {
  if (x.is_meta()) return;
  if (x.is_cuda()) return on_gpu::lanczos_step(sums, scale, k_x, y, other, x);
  std::int64_t const count = x[0].numel();
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "lanczos", [&] {
    auto const& loops = row_loops::loops<scalar_t>();
    for (std::int64_t sample = 0; sample < x.size(0); ++sample) {
      auto const of = [sample](at::Tensor const& t) { return t.const_data_ptr<double>()[sample]; };
      auto const alpha = static_cast<scalar_t>(share(of(sums.x_k_x), of(sums.y_y)));
      auto const beta2 = static_cast<scalar_t>(share(of(sums.y_y), of(sums.y_y_before)));
      parallel_for(sum_chunks(count), sum_chunk_size, [&](auto begin, auto end) {
        std::int64_t const i = sample * count + begin * sum_chunk_size;
        std::int64_t const last = sample * count + std::min(count, end * sum_chunk_size);
        loops.lanczos(alpha, beta2, scale.const_data_ptr<scalar_t>() + i,
                      k_x.const_data_ptr<scalar_t>() + i, y.const_data_ptr<scalar_t>() + i,
                      other.mutable_data_ptr<scalar_t>() + i, x.mutable_data_ptr<scalar_t>() + i,
                      last - i);
      });
    }
  });
}

at::Tensor shares(at::Tensor const& part, at::Tensor const& whole) {
  if (whole.is_meta()) return part;  // torch has no where() of tensors without memory
  return at::where(whole > 0.0, part / whole, 0.0);
}

// A mean of the eigenvalues of T [B, n, n], weighted by their 256th powers: less than 0.2 % below
// the largest for each other that is near. It never waits for a GPU, as a solver of eigenvalues
// would. T has no negative eigenvalues, so its largest entry is on the diagonal; of that the
// largest eigenvalue of a tridiagonal matrix is one to three times, and powers do not overflow.
at::Tensor largest_eigenvalue(at::Tensor const& t) {
  at::Tensor const power = at::matrix_power(t / t.amax({1, 2}, /*keepdim=*/true), 256);
  // Of two symmetric matrices the trace of the product.
  return (power * t).sum({1, 2}) / power.diagonal(0, 1, 2).sum(1);
}

}  // namespace

at::Tensor lanczos_top(LevelOperator const& op, int steps) {
  Space const& space = op.space();
  at::Tensor const scale = op.diagonal().rsqrt_();
  std::int64_t const first = space.slab().first() * op.grid().nodes(1) * op.grid().nodes(2);
  at::Tensor y = noise_like(scale, first), other = at::zeros_like(y);
  at::Tensor const x = scale * y;
  space.refresh_nodes(x);
  std::vector<at::Tensor> x_k_x, y_y{plane_dots(space, y, y)};
  at::Tensor y_y_before = at::zeros_like(y_y.front());
  while (true) {
    at::Tensor const k_x = op.apply(x);
    x_k_x.push_back(plane_dots(space, x, k_x));
    if (std::ssize(x_k_x) == steps) break;
    advance({x_k_x.back(), y_y.back(), y_y_before}, scale, k_x, y, other, x);
    space.refresh_nodes(x);
    std::swap(y, other);
    y_y_before = y_y.back();
    y_y.push_back(plane_dots(space, y, y));
  }
  at::Tensor const norms = at::stack(y_y, 1);
  at::Tensor t = at::diag_embed(shares(at::stack(x_k_x, 1), norms));
  if (steps > 1) {
    at::Tensor const beta =
        shares(norms.narrow(1, 1, steps - 1), norms.narrow(1, 0, steps - 1)).sqrt();
    t += at::diag_embed(beta, 1) + at::diag_embed(beta, -1);
  }
  return largest_eigenvalue(t);
}

}  // namespace voxcycle
