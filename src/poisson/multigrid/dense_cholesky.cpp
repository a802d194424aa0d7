// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/multigrid/dense_cholesky.hpp"

#include "voxcycle/core/device_graph.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/rehearsal.hpp"
#include "voxcycle/poisson/parallel.hpp"

#include <cmath>
#include <utility>

#include "poisson/operator/device.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

// A = L L^T in place of A's lower triangle. @return whether A is positive definite.
bool factorise(double* a, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    double* const row = a + i * n;
    for (std::int64_t j = 0; j < i; ++j) {
      double const* const other = a + j * n;
      row[j] = (row[j] - lane_dot(row, other, j)) / other[j];
    }
    double const pivot = row[i] - lane_dot(row, row, i);
    if (!(pivot > 0.0)) {
      return false;
    }
    row[i] = std::sqrt(pivot);
  }
  return true;
}

// x becomes (L L^T)^-1 x.
void substitute(double const* factor, double* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    double const* const row = factor + i * n;
    x[i] = (x[i] - lane_dot(row, x, i)) / row[i];
  }
  for (std::int64_t i = n; i-- > 0;) {
    double const* const row = factor + i * n;
    x[i] /= row[i];
    for (std::int64_t j = 0; j < i; ++j) {
      x[j] -= row[j] * x[i];
    }
  }
}

}  // namespace

DenseCholesky::DenseCholesky(at::Tensor matrices, at::Device device, char const* what)
    : factor_(std::move(matrices)) {
  auto const require_definite = [&](bool is_definite, std::int64_t sample) {
    VOXCYCLE_REQUIRE(is_definite,
                     what << " of sample " << sample
                          << " is not positive definite (multigrid needs nu > 0 everywhere, and "
                             "voxels whose edges do not differ by many orders of magnitude). Check "
                             "the coefficient and the spacing.");
  };
  if (factor_.is_cuda()) {
    inverse_ = std::exchange(factor_, {});
    on_gpu::invert(inverse_);
    if (DeviceGraph::is_recording()) return;
    at::Tensor const sound = on_host(inverse_.select(1, 0).select(1, 0).isfinite());
    for (std::int64_t sample = 0; sample < sound.size(0); ++sample)
      require_definite(sound.const_data_ptr<bool>()[sample], sample);
    return;
  }
  std::int64_t const n = factor_.size(1);
  for (std::int64_t sample = 0; sample < factor_.size(0); ++sample) {
    require_definite(factor_.is_meta() || factorise(factor_[sample].mutable_data_ptr<double>(), n),
                     sample);
  }
  if (!device.is_cuda()) return;
  inverse_ = at::cholesky_inverse(factor_).to(device, /*non_blocking=*/true);
  factor_.reset();
}

at::Tensor DenseCholesky::solve(at::Tensor b) const {
  if (inverse_.defined()) return at::bmm(inverse_, b.unsqueeze(2)).squeeze(2);
  std::int64_t const n = factor_.size(1);
  auto const* const factor = factor_.const_data_ptr<double>();
  auto* const values = b.mutable_data_ptr<double>();
  parallel_for(b.size(0), n * n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t sample = begin; sample < end; ++sample) {
      substitute(factor + sample * n * n, values + sample * n, n);
    }
  });
  return b;
}

}  // namespace voxcycle
