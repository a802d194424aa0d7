// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <numbers>

#include <ATen/ATen.h>

namespace voxcycle::testing {

/// A smooth solution of -div(nu grad u) = f with variable nu on the unit cube, u = 1 at x = 0, u =
/// 0 at x = 1 and zero flux through the other faces: u = 1 - x + sin(pi x) cos(pi y) cos(2 pi z),
/// nu = 1 + sin(pi x) cos(2 pi y) cos(pi z) / 2.
struct Manufactured {
  static constexpr double pi = std::numbers::pi;
  static double u(double x, double y, double z) {
    return 1.0 - x + std::sin(pi * x) * std::cos(pi * y) * std::cos(2 * pi * z);
  }
  static double nu(double x, double y, double z) {
    return 1.0 + 0.5 * std::sin(pi * x) * std::cos(2 * pi * y) * std::cos(pi * z);
  }
  /// -div(nu grad u)
  static double f(double x, double y, double z) {
    double const sx = std::sin(pi * x), cx = std::cos(pi * x);
    double const product = sx * std::cos(pi * y) * std::cos(2 * pi * z);
    double const u_x = -1.0 + pi * cx * std::cos(pi * y) * std::cos(2 * pi * z);
    double const u_y = -pi * sx * std::sin(pi * y) * std::cos(2 * pi * z);
    double const u_z = -2 * pi * sx * std::cos(pi * y) * std::sin(2 * pi * z);
    double const nu_x = 0.5 * pi * cx * std::cos(2 * pi * y) * std::cos(pi * z);
    double const nu_y = -pi * sx * std::sin(2 * pi * y) * std::cos(pi * z);
    double const nu_z = -0.5 * pi * sx * std::cos(2 * pi * y) * std::sin(pi * z);
    return 6 * pi * pi * nu(x, y, z) * product - (nu_x * u_x + nu_y * u_y + nu_z * u_z);
  }

  /// Samples at n points an axis, the first at `offset` steps.
  static at::Tensor sample(double (*function)(double, double, double), int points, double step,
                           double offset) {
    at::Tensor field = at::empty({1, 1, points, points, points}, at::kDouble);
    auto values = field.accessor<double, 5>();
    for (int x = 0; x < points; ++x) {
      for (int y = 0; y < points; ++y) {
        for (int z = 0; z < points; ++z) {
          values[0][0][x][y][z] =
              function((x + offset) * step, (y + offset) * step, (z + offset) * step);
        }
      }
    }
    return field;
  }
};

}  // namespace voxcycle::testing
