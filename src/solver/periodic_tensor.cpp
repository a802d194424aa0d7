// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/periodic_tensor.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/timer.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/solver/fast_poisson.hpp"

#include <algorithm>
#include <cmath>

#include "solver/field_sums.hpp"
#include "solver/periodic_field.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

void require_sound(Grid3 const& grid, at::Tensor const& nu, PeriodicTensorOptions const& options) {
  require_valid(grid);
  VOXCYCLE_REQUIRE(
      options.tolerance > 0.0 && options.tolerance < 1.0,
      "a tensor's tolerance is a share of it, not " << options.tolerance << ". Give e.g. 1e-6.");
  VOXCYCLE_REQUIRE(nu.numel() == grid.voxel_count(),
                   "nu has shape " << nu.sizes() << ", expected " << grid.name() << " voxels.");
  auto const [least, most] = nu.aminmax();
  VOXCYCLE_REQUIRE(least.item<double>() > 0.0 && std::isfinite(most.item<double>()),
                   "nu has values that are not positive or not finite (a periodic solve needs an "
                   "equation on every node). Check the coefficient.");
}

/// The coordinate of `axis` on all nodes [1, 1, nx+1, ny+1, nz+1].
at::Tensor coordinate(Grid3 const& grid, int axis) {
  std::array<std::int64_t, 5> shape{1, 1, 1, 1, 1};
  shape[static_cast<std::size_t>(axis) + 2] = grid.nodes(axis);
  at::Tensor const x = at::arange(grid.nodes(axis), at::kDouble) * grid.spacing(axis);
  return x.view(shape).expand(grid.node_shape()).contiguous();
}

/// The cell problems of one medium.
class Cell {
 public:
  Cell(Grid3 const& grid, at::Tensor const& nu)
      : problem_(periodic_problem(grid)),
        nu_(nu),
        fast_(problem_),
        mean_(nu.mean().item<double>()),
        harmonic_mean_(1.0 / nu.reciprocal().mean().item<double>()) {}

  double volume() const {
    auto const& lengths = problem_.grid.lengths;
    return lengths[0] * lengths[1] * lengths[2];
  }

  /// x_j + chi_j on all nodes. @param result  has the solve's figures afterwards
  at::Tensor potential(int j, PeriodicTensorOptions const& options, SolveResult& result) const {
    Grid3 const& grid = problem_.grid;
    at::Tensor x = coordinate(grid, j);
    at::Tensor b = folded(apply_stiffness(x, nu_, grid)).neg_();
    remove_mean(b);  // rounding
    at::Tensor const terms = folded(stiffness_diagonal(nu_, grid)).mul_(grid.spacing(j));
    if (field_dot(b, b) <= rounding * rounding * field_dot(terms, terms)) {
      result = {.u = {}, .converged = true, .error_bound = 0.0};
      return x;  // the flow has no sources as it is
    }
    result = solve_fft_pcg(problem_, nu_, fast_, solve_options(options), b);
    return x.add_(wrapped(result.u));
  }

  /// 1/|Y| integral of nu grad u . grad v.
  double product(at::Tensor const& u, at::Tensor const& v) const {
    return field_dot(u, apply_stiffness(v, nu_, problem_.grid)) / volume();
  }

  /// Of a diagonal element, what the solver left: e = |chi_j - chi_j*|_K^2 / |Y| with
  /// e <= error_bound^2 |chi_j*|_K^2 / |Y|, which is mean nu less the discrete equations' element.
  /// No element is below nu's harmonic mean.
  double left_of(double element, double error_bound) const {
    double const square = error_bound * error_bound;
    double const most = element - harmonic_mean_;
    double const proven =
        square < 1.0 ? std::max(0.0, mean_ - element) * square / (1.0 - square) : most;
    return std::max(rounding * element, std::min(most, proven));
  }

  double harmonic_mean() const { return harmonic_mean_; }

 private:
  static constexpr double rounding = 16.0 * std::numeric_limits<double>::epsilon();

  // Energies have the squares of errors; those of three directions are a share of K's least value.
  SolveOptions solve_options(PeriodicTensorOptions const& options) const {
    double const share = options.tolerance * harmonic_mean_ / (mean_ - harmonic_mean_);
    return {.tolerance = std::min(1e-2, std::sqrt(options.tolerance)),
            .max_iterations = options.max_iterations,
            .energy_error = std::min(0.1, std::sqrt(share) / 2.0)};
  }

  Problem problem_;
  at::Tensor nu_;
  FastPoisson fast_;
  double mean_, harmonic_mean_;
};

/// Values and directions, whose largest component is positive.
void set_principal(at::Tensor const& matrix, PeriodicTensor& result) {
  auto const [values, vectors] = at::linalg_eigh(matrix);
  for (int k = 0; k < 3; ++k) {
    at::Tensor const v = vectors.select(1, k);
    double const sign = v[v.abs().argmax()].item<double>() < 0.0 ? -1.0 : 1.0;
    result.principal_values[k] = values[k].item<double>();
    for (int i = 0; i < 3; ++i) {
      result.principal_directions[k][i] = sign * v[i].item<double>() + 0.0;
    }
  }
}

}  // namespace

PeriodicTensor periodic_tensor(Grid3 const& grid, at::Tensor const& nu,
                               PeriodicTensorOptions const& options) {
  require_sound(grid, nu, options);
  at::NoGradGuard const no_grad;
  Timer const timer;
  PeriodicTensor result;
  auto voxels = nu.to(at::kCPU, at::kDouble).contiguous().view(grid.voxel_shape());
  auto const [least, most] = voxels.aminmax();
  result.contrast = most.item<double>() / least.item<double>();
  double const unit = std::exp2(std::floor(std::log2(most.item<double>())));
  Cell const cell(grid, voxels / unit);
  std::array<at::Tensor, 3> potentials;
  at::Tensor matrix = at::zeros({3, 3}, at::kDouble);
  double left = 0.0;  // the trace of what the solver left, a positive semidefinite matrix
  for (int j = 0; j < 3; ++j) {
    SolveResult solved;
    potentials[j] = cell.potential(j, options, solved);
    for (int i = 0; i <= j; ++i) {
      matrix[i][j] = matrix[j][i] = cell.product(potentials[i], potentials[j]);
    }
    left += cell.left_of(matrix[j][j].item<double>(), solved.error_bound);
    result.iterations[j] = solved.iterations;
    result.relative_residuals[j] = solved.relative_residual;
  }
  set_principal(matrix, result);
  result.error = left / std::max(cell.harmonic_mean(), result.principal_values[0] - left);
  result.converged = result.error <= options.tolerance;
  for (int i = 0; i < 3; ++i) {
    result.principal_values[i] *= unit;
    for (int j = 0; j < 3; ++j) result.matrix[i][j] = unit * matrix[i][j].item<double>();
  }
  result.seconds = timer.seconds();
  return result;
}

}  // namespace voxcycle
