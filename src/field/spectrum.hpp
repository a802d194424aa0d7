// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/field/family.hpp"

#include <string>
#include <vector>

namespace voxcycle {

/// The wave numbers 2 pi m / period of a Gaussian random field on the unit cube and the standard
/// deviation of each.
///
/// The field has the period 1 + p l an axis, p = 4 (gaussian) or 5 (exponential), so that its
/// covariance within the cube is c(r) plus c at the distance of the images, at most c(p l) at
/// opposite faces: 3e-4 (gaussian), 7e-3 (exponential) of the variance. Sampled at the wave numbers
/// of that period, the spectral density S(k) (the Fourier transform of c) is the exact spectrum of
/// the periodic covariance (Poisson's sum). With c(0) = 1:
///
///     gaussian     c = exp(-r^2 / (2 l^2))   S ~ exp(-l^2 k^2 / 2)
///     exponential  c = exp(-r / l)           S ~ 1 / (1 + l^2 k^2)^2
///
/// Wave vectors beyond a ball are left out: |k| l > 4.6, 1e-4 of the variance (gaussian), or
/// |m| > band (exponential, whose share beyond K = 2 pi band / period is about 4 / (pi l K): 6 %
/// for l = 0.1 and 48 wave numbers, 11 % for l = 0.05). What is kept is scaled to the whole
/// variance.
struct WaveSpectrum {
  double period = 1.0;
  int band = 0;  ///< largest |m| along an axis
  /// [band + 1, band + 1, band + 1] by |m| along x, y, z: sqrt(variance S / sum of S); 0 outside
  /// the ball.
  std::vector<double> deviation;

  double at(int mx, int my, int mz) const {
    auto const side = static_cast<std::size_t>(band) + 1;
    return deviation[(static_cast<std::size_t>(mx) * side + static_cast<std::size_t>(my)) * side +
                     static_cast<std::size_t>(mz)];
  }
  /// Largest |m| along another axis that lies in the ball together with m along one.
  int reach(int m) const {
    int other = band;
    while (other > 0 && at(m, other, 0) == 0.0) --other;
    return other;
  }
};

/// @throws Error for an unknown covariance, numbers out of range, or a band that cuts off more than
/// 1e-4 of a gaussian covariance's variance.
WaveSpectrum make_spectrum(GrfOptions const& options);

}  // namespace voxcycle
