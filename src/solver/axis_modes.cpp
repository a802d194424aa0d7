// SPDX-License-Identifier: BSD-3-Clause
#include "solver/axis_modes.hpp"

#include <cmath>
#include <numbers>

namespace voxcycle {

AxisModes axis_modes(Grid3 const& grid, Boundary const& boundary, int axis) {
  bool const low = boundary.face(axis, 0).kind == FaceKind::dirichlet;
  bool const high = boundary.face(axis, 1).kind == FaceKind::dirichlet;
  int const n = static_cast<int>(grid.voxels[axis]);
  double const h = grid.spacing(axis);
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
    double const half_sine = std::sin(std::numbers::pi * (i + result.shift) / n / 2.0);
    double const k = 4.0 * half_sine * half_sine;  // 2 - 2 cos theta without cancellation
    result.k.push_back(k / h);
    result.m.push_back(h * (6.0 - k) / 6.0);
  }
  return result;
}

}  // namespace voxcycle
