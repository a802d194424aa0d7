// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/solver/pcg.hpp"

#include <vector>

#include <fftw3.h>

namespace voxcycle {

/// One axis of a box: its free nodes, their weights (1, and 1/2 on a zero-flux end), and the sine
/// or cosine transform whose modes diagonalise the axis' Q1 matrices K1 and M1 together (table in
/// README): theta_k = pi (k + shift) / n, mode k is sin or cos(theta_k j) at node j. Of a periodic
/// axis theta_k = 2 pi min(k, n - k) / n, and the first n/2 + 1 modes are cosines.
struct AxisModes {
  int first = 0;                 ///< first free node
  int count = 0;                 ///< free nodes, and modes
  fftw_r2r_kind forward{};       ///< v at the nodes to 2 sum_j weight_j v_j mode_k(j)
  fftw_r2r_kind inverse{};       ///< modes to nodes
  double scale = 0.0;            ///< of forward and inverse together
  double shift = 0.0;            ///< of theta_k
  bool half_first = false;       ///< the first free node is a zero-flux end (weight 1/2)
  bool half_last = false;        ///< the same for the last one
  std::vector<double> k{}, m{};  ///< eigenvalues of K1 and M1 with respect to the weights

  double inverse_weight(int i) const {
    return (half_first && i == 0) || (half_last && i == count - 1) ? 2.0 : 1.0;
  }
};

AxisModes axis_modes(Problem const& problem, int axis);

}  // namespace voxcycle
