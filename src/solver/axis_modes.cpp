// SPDX-License-Identifier: BSD-3-Clause
#include "solver/axis_modes.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace voxcycle {
namespace {

void add_eigenvalues(AxisModes& modes, double theta, double h) {
  double const half_sine = std::sin(theta / 2.0);
  double const k = 4.0 * half_sine * half_sine;  // 2 - 2 cos theta without cancellation
  modes.k.push_back(k / h);
  modes.m.push_back(h * (6.0 - k) / 6.0);
}

AxisModes periodic_modes(int n, double h) {
  AxisModes result{.count = n, .forward = FFTW_R2HC, .inverse = FFTW_HC2R, .scale = 1.0 / n};
  for (int i = 0; i < n; ++i) {
    add_eigenvalues(result, 2.0 * std::numbers::pi * std::min(i, n - i) / n, h);
  }
  return result;
}

}  // namespace

AxisModes axis_modes(Problem const& problem, int axis) {
  bool const low = problem.boundary.face(axis, 0).kind == FaceKind::dirichlet;
  bool const high = problem.boundary.face(axis, 1).kind == FaceKind::dirichlet;
  int const n = static_cast<int>(problem.grid.voxels[axis]);
  double const h = problem.grid.spacing(axis);
  if (problem.opposite == OppositeFaces::one) return periodic_modes(n, h);
  AxisModes result;
  result.first = low ? 1 : 0;
  result.count = n + 1 - (low ? 1 : 0) - (high ? 1 : 0);
  result.half_first = !low;
  result.half_last = !high;
  result.scale = 1.0 / (2.0 * n);
  if (low && high) {
    result.forward = result.inverse = FFTW_RODFT00;
    result.shift = 1.0;
  } else if (!low && !high) {
    result.forward = result.inverse = FFTW_REDFT00;
  } else {
    result.forward = low ? FFTW_RODFT01 : FFTW_REDFT01;
    result.inverse = low ? FFTW_RODFT10 : FFTW_REDFT10;
    result.shift = 0.5;
  }
  for (int i = 0; i < result.count; ++i) {
    add_eigenvalues(result, std::numbers::pi * (i + result.shift) / n, h);
  }
  return result;
}

}  // namespace voxcycle
