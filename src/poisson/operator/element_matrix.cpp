// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/operator/element_matrix.hpp"

#include <bit>

namespace voxcycle {
namespace {

// hy hz / hx and so on: the weight of the difference along each axis.
std::array<double, 3> axis_weights(Grid3 const& grid) {
  double const hx = grid.spacing(0), hy = grid.spacing(1), hz = grid.spacing(2);
  return {hy * hz / hx, hx * hz / hy, hx * hy / hz};
}

}  // namespace

HaarSpectrum haar_spectrum(Grid3 const& grid) {
  auto const weights = axis_weights(grid);
  HaarSpectrum spectrum{};
  for (int i = 0; i < 8; ++i) {
    bool const is_difference[3] = {(i & 4) != 0, (i & 2) != 0, (i & 1) != 0};
    for (int axis = 0; axis < 3; ++axis) {
      double product = is_difference[axis] ? weights[axis] : 0.0;
      for (int other = 0; other < 3; ++other) {
        product *= other == axis ? 1.0 : is_difference[other] ? 1.0 / 12.0 : 1.0 / 4.0;
      }
      spectrum.lambda[i] += product;
    }
  }
  return spectrum;
}

double element_diagonal(Grid3 const& grid) {
  auto const weights = axis_weights(grid);
  return (weights[0] + weights[1] + weights[2]) / 9.0;  // 1 of K1 times 1/3 and 1/3 of M1
}

Matrix8 element_stiffness(Grid3 const& grid) {
  HaarSpectrum const spectrum = haar_spectrum(grid);
  Matrix8 matrix{};
  for (unsigned i = 0; i < 8; ++i) {
    for (unsigned j = 0; j < 8; ++j) {
      for (unsigned vector = 0; vector < 8; ++vector) {
        // Haar vector's entry at a corner: -1 for each axis that is a difference and at its end.
        bool const negative = std::popcount((i ^ j) & vector) % 2 != 0;
        matrix[i][j] += negative ? -spectrum.lambda[vector] : spectrum.lambda[vector];
      }
    }
  }
  return matrix;
}

}  // namespace voxcycle
