// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/spectrum.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "solver/axis_modes.hpp"
#include "solver/fftw_plan.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// Wavenumber of mode k along an axis, in units of pi / longest.
double wavenumber(AxisModes const& axis, double length, double longest, int k) {
  return (k + axis.shift) * longest / length;
}

/// What the square of transformed values counts: the transform is y = 2 phi^T W e = 2 c phi^T W phi
/// with phi^T W phi = n/2, or n for the constant and the alternating mode of a zero-flux axis, so
/// that c^2 phi^T W phi = y^2 / (4 phi^T W phi).
double square_weight(AxisModes const& axis, std::int64_t n, int k) {
  bool const cosines = axis.half_first && axis.half_last;
  bool const flat = cosines && (k == 0 || k == axis.count - 1);
  return 1.0 / (static_cast<double>(n) * (flat ? 4.0 : 2.0));
}

}  // namespace

struct SpectrumOfBox::Impl {
  explicit Impl(Problem const& problem) : grid(problem.grid) {
    require_valid(grid);
    double const longest = *std::max_element(grid.lengths.begin(), grid.lengths.end());
    double highest = 0.0;
    for (int a = 0; a < 3; ++a) {
      VOXCYCLE_REQUIRE(grid.voxels[a] < (1 << 15),
                       "grid " << grid.name() << " is too long for a spectrum. Use fewer than "
                               << (1 << 15) << " voxels per axis.");
      axes[a] = axis_modes(problem, a);
      for (int k = 0; k < axes[a].count; ++k) {
        squares_of_k[a].push_back(std::pow(wavenumber(axes[a], grid.lengths[a], longest, k), 2));
        weights[a].push_back(square_weight(axes[a], grid.voxels[a], k));
      }
      if (axes[a].count == 0) return;  // every node is on a Dirichlet face
      highest += squares_of_k[a].back();
    }
    shells = shell_of(highest) + 1;
    int const plane = axes[1].count * axes[2].count;
    along[0] = FftwPlan(axes[0].forward, axes[0].count, plane, plane, 1);
    along[1] = FftwPlan(axes[1].forward, axes[1].count, axes[2].count, axes[2].count, 1);
    along[2] = FftwPlan(axes[2].forward, axes[2].count, 1, axes[1].count, axes[2].count);
  }

  static std::size_t shell_of(double square_of_k) {
    return static_cast<std::size_t>(std::floor(std::sqrt(square_of_k) + 0.5));
  }

  /// The free nodes of e, transformed along all axes.
  at::Tensor modes(at::Tensor const& e) const {
    auto const& [ax, ay, az] = axes;
    at::Tensor result = e[0][0]
                            .narrow(0, ax.first, ax.count)
                            .narrow(1, ay.first, ay.count)
                            .narrow(2, az.first, az.count)
                            .clone(at::MemoryFormat::Contiguous);
    auto* const values = result.mutable_data_ptr<double>();
    along[0].run(values);
    for (std::int64_t x = 0; x < ax.count; ++x) {
      double* const plane = values + x * ay.count * az.count;
      along[1].run(plane);
      along[2].run(plane);
    }
    return result;
  }

  Grid3 grid;
  std::array<AxisModes, 3> axes;
  std::array<FftwPlan, 3> along;
  std::array<std::vector<double>, 3> squares_of_k;
  std::array<std::vector<double>, 3> weights;
  std::size_t shells = 0;
};

SpectrumOfBox::SpectrumOfBox(Problem const& problem) : impl_(std::make_unique<Impl>(problem)) {}
SpectrumOfBox::~SpectrumOfBox() = default;
SpectrumOfBox::SpectrumOfBox(SpectrumOfBox&&) noexcept = default;
SpectrumOfBox& SpectrumOfBox::operator=(SpectrumOfBox&&) noexcept = default;

std::size_t SpectrumOfBox::shells() const {
  return impl_->shells;
}

Spectrum SpectrumOfBox::operator()(at::Tensor const& e) const {
  Grid3 const& grid = impl_->grid;
  auto const shape = grid.node_shape();
  VOXCYCLE_REQUIRE(e.sizes() == at::IntArrayRef(shape) && e.scalar_type() == at::kDouble,
                   "the field of a spectrum has shape "
                       << e.sizes() << " and type " << e.scalar_type() << ", expected "
                       << at::IntArrayRef(shape) << " in float64.");
  Spectrum result{std::vector<double>(impl_->shells), std::vector<double>(impl_->shells)};
  if (impl_->shells == 0) return result;
  at::Tensor const modes = impl_->modes(e);
  auto const* y = modes.const_data_ptr<double>();
  auto const& [ax, ay, az] = impl_->axes;
  auto const& [wx, wy, wz] = impl_->weights;
  auto const& [kx, ky, kz] = impl_->squares_of_k;
  double const volume = grid.spacing(0) * grid.spacing(1) * grid.spacing(2);
  for (int i = 0; i < ax.count; ++i) {
    for (int j = 0; j < ay.count; ++j) {
      double const k_xy = ax.k[i] * ay.m[j] + ax.m[i] * ay.k[j];
      double const m_xy = ax.m[i] * ay.m[j];
      for (int k = 0; k < az.count; ++k, ++y) {
        double const square = *y * *y * wx[i] * wy[j] * wz[k];
        auto const shell = Impl::shell_of(kx[i] + ky[j] + kz[k]);
        result.squares[shell] += square * volume;
        result.energy[shell] += square * (k_xy * az.m[k] + m_xy * az.k[k]);
      }
    }
  }
  return result;
}

}  // namespace voxcycle
