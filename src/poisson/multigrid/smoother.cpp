// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/smoother.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/parallel.hpp"

#include <algorithm>

#include "poisson/multigrid/chebyshev.hpp"
#include "poisson/operator/device.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// x /= weights, and 0 where the weights are.
template <class T>
void divide(T const* weights, T* x, std::int64_t count) {
  parallel_for(sum_chunks(count), sum_chunk_size, [&](auto begin, auto end) {
    std::int64_t const last = std::min(count, end * sum_chunk_size);
    for (std::int64_t i = begin * sum_chunk_size; i < last; ++i) {
      x[i] = weights[i] > T(0) ? x[i] / weights[i] : T(0);
    }
  });
}

}  // namespace

Smoother::Smoother(Space const& space, at::Tensor const& mask, at::Tensor const& nu,
                   ChebyshevSteps steps)
    : Smoother(make_voxel_operator(space, nu), mask, std::move(steps)) {}

Smoother::Smoother(std::unique_ptr<LevelOperator> op, at::Tensor const& mask, ChebyshevSteps steps)
    : op_(std::move(op)), jacobi_weights_(jacobi_weights(*op_, mask)), steps_(std::move(steps)) {
  VOXCYCLE_REQUIRE(!steps_.empty(), "a smoother of no steps. Use one or more.");
  op_->space().refresh_nodes(jacobi_weights_);
}

Smoother::~Smoother() = default;
Smoother::Smoother(Smoother&&) noexcept = default;

at::Tensor Smoother::smooth(at::Tensor const& u, std::optional<at::Tensor> const& b) const {
  at::Tensor const load = b ? b->expand_as(u).contiguous() : at::zeros_like(u);
  at::Tensor x = chebyshev(*op_, jacobi_weights_, u.clone(), load, steps_);
  op_->space().refresh_nodes(x);
  return x;
}

at::Tensor Smoother::transposed(at::Tensor const& gradient) const {
  at::Tensor x = chebyshev(*op_, jacobi_weights_, gradient * jacobi_weights_,
                           at::zeros_like(gradient), steps_);
  op_->space().refresh_nodes(x);
  if (x.is_cuda()) {
    on_gpu::divide(jacobi_weights_, x);
    return x;
  }
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "smoother", [&] {
    divide(jacobi_weights_.const_data_ptr<scalar_t>(), x.mutable_data_ptr<scalar_t>(), x.numel());
  });
  return x;
}

at::Tensor Smoother::residual(at::Tensor const& u, std::optional<at::Tensor> const& b) const {
  at::Tensor r = op_->apply(u).neg_();
  if (b) r.add_(*b);
  return on_free_nodes(r);
}

at::Tensor Smoother::product(at::Tensor const& u) const {
  return on_free_nodes(op_->apply(u));
}

/// `field` itself, 0 on Dirichlet nodes from now on.
at::Tensor Smoother::on_free_nodes(at::Tensor const& field) const {
  op_->space().refresh_nodes(field);
  return field.masked_fill_(jacobi_weights_ == 0, 0.0);
}

}  // namespace voxcycle
