// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/smoother.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/poisson/parallel.hpp"

#include <algorithm>

#include "element_matrix.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// The smoothed part of the spectrum is from its top down to top / this.
constexpr double kSmoothedRange = 4.0;

/// No eigenvalue of D^-1 K exceeds that of a single voxel's matrix over its diagonal, because K and
/// D are sums over voxels of nu times the one and the other (Rayleigh quotients).
double spectrum_top(Grid3 const& grid) {
  HaarSpectrum const spectrum = haar_spectrum(grid);
  double const largest = *std::max_element(spectrum.lambda, spectrum.lambda + 8);
  constexpr double norm = 8.0;  // squared length of a Haar vector
  return largest * norm / element_diagonal(grid);
}

/// One Chebyshev step: d = keep d - take D^-1 gradient, u += d.
struct Step {
  double keep, take;
};

template <class T>
void update(Step const& step, T const* inverse, T const* gradient, T* d, T* u, std::int64_t count) {
  T const keep = static_cast<T>(step.keep), take = static_cast<T>(step.take);
  bool const first = step.keep == 0.0;
  parallel_for(sum_chunks(count), sum_chunk_size, [&](auto begin, auto end) {
    std::int64_t const last = std::min(count, end * sum_chunk_size);
    for (std::int64_t i = begin * sum_chunk_size; i < last; ++i) {
      T const kept = first ? T(0) : keep * d[i];
      d[i] = kept - take * (inverse[i] * gradient[i]);
      u[i] += d[i];
    }
  });
}

/// x /= inverse, and 0 where the inverse is.
template <class T>
void divide(T const* inverse, T* x, std::int64_t count) {
  parallel_for(sum_chunks(count), sum_chunk_size, [&](auto begin, auto end) {
    std::int64_t const last = std::min(count, end * sum_chunk_size);
    for (std::int64_t i = begin * sum_chunk_size; i < last; ++i) {
      x[i] = inverse[i] > T(0) ? x[i] / inverse[i] : T(0);
    }
  });
}

}  // namespace

Smoother::Smoother(Grid3 const& grid, Boundary const& boundary, at::Tensor const& nu, int steps)
    : grid_(grid),
      nu_(nu),
      inverse_diagonal_(stiffness_diagonal(nu, grid).reciprocal_().mul_(
          free_node_mask(grid, boundary, nu.scalar_type()))),
      steps_(steps) {
  VOXCYCLE_REQUIRE(steps > 0, "a smoother of " << steps << " steps. Use one or more.");
}

at::Tensor Smoother::steps_on(at::Tensor const& u, std::optional<at::Tensor> const& b) const {
  double const top = spectrum_top(grid_), bottom = top / kSmoothedRange;
  double const centre = (top + bottom) / 2.0, radius = (top - bottom) / 2.0;
  double const ratio = centre / radius;
  double rho = 1.0 / ratio;
  at::Tensor const d = at::empty_like(u);
  for (int k = 0; k < steps_; ++k) {
    Step step{0.0, 1.0 / centre};
    if (k > 0) {
      double const next = 1.0 / (2.0 * ratio - rho);
      step = {next * rho, 2.0 * next / radius};
      rho = next;
    }
    at::Tensor const gradient = energy_and_gradient(u, nu_, grid_, b).gradient;
    AT_DISPATCH_FLOATING_TYPES(u.scalar_type(), "smoother", [&] {
      update(step, inverse_diagonal_.const_data_ptr<scalar_t>(),
             gradient.const_data_ptr<scalar_t>(), d.mutable_data_ptr<scalar_t>(),
             u.mutable_data_ptr<scalar_t>(), u.numel());
    });
  }
  return u;
}

at::Tensor Smoother::smooth(at::Tensor const& u, std::optional<at::Tensor> const& b) const {
  return steps_on(u.clone(), b);
}

at::Tensor Smoother::transposed(at::Tensor const& slope) const {
  at::Tensor x = steps_on(slope * inverse_diagonal_, std::nullopt);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "smoother", [&] {
    divide(inverse_diagonal_.const_data_ptr<scalar_t>(), x.mutable_data_ptr<scalar_t>(), x.numel());
  });
  return x;
}

}  // namespace voxcycle
