// SPDX-License-Identifier: BSD-3-Clause
#include "field/spectrum.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/exact_math.hpp"
#include "voxcycle/core/registry.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace voxcycle {
namespace {

constexpr double kTwoPi = 6.283185307179586;

/// sqrt(S(k)) up to a factor; `square` is l^2 k^2.
double gaussian_amplitude(double square) {
  return exact_exp(-0.25 * square);
}
double exponential_amplitude(double square) {
  return 1.0 / (1.0 + square);
}

struct Covariance {
  double (*amplitude)(double square);
  double padding;   ///< period beyond the unit cube, in correlation lengths
  double farthest;  ///< l |k| beyond which too little is left to be kept
};

Registry<Covariance> const kCovariances{
    "grf: covariance",
    {
        {"exponential", {exponential_amplitude, 5.0, std::numeric_limits<double>::infinity()}},
        // A chi distribution of three degrees of freedom exceeds 4.6 with probability 1e-4.
        {"gaussian", {gaussian_amplitude, 4.0, 4.6}},
    }};

void require_in_range(GrfOptions const& options) {
  VOXCYCLE_REQUIRE(options.length >= 0.02 && options.length <= 0.5,
                   "grf: correlation length " << options.length << ". Use 0.02 to 0.5.");
  // 20 standard deviations of 4 are a logarithm of 80, well inside the range of float.
  VOXCYCLE_REQUIRE(options.variance > 0 && options.variance <= 16,
                   "grf: variance of log nu " << options.variance << " (nu could leave the range "
                                              << "of float). Use more than 0, at most 16.");
  VOXCYCLE_REQUIRE(options.band >= 1 && options.band <= 128,
                   "grf: a band of " << options.band << " wave numbers. Use 1 to 128.");
}

}  // namespace

std::vector<std::string> covariance_names() {
  return kCovariances.names();
}

WaveSpectrum make_spectrum(GrfOptions const& options) {
  require_in_range(options);
  Covariance const& covariance = kCovariances.at(options.covariance);
  WaveSpectrum spectrum;
  spectrum.period = 1.0 + covariance.padding * options.length;
  double const unit = options.length * kTwoPi / spectrum.period;  // l k of m = 1
  double const needed = covariance.farthest / unit;
  double const farthest = std::min(needed, static_cast<double>(options.band));
  VOXCYCLE_REQUIRE(std::isinf(needed) || needed <= options.band,
                   "grf: a correlation length of "
                       << options.length << " with " << options.covariance << " covariance needs "
                       << std::ceil(needed) << " wave numbers, but the band is " << options.band
                       << ". Raise the band or the length.");
  spectrum.band = static_cast<int>(farthest);
  int const band = spectrum.band;
  double sum = 0.0;
  for (int x = 0; x <= band; ++x) {
    for (int y = 0; y <= band; ++y) {
      for (int z = 0; z <= band; ++z) {
        double const square = x * x + y * y + z * z;
        bool const inside = square <= farthest * farthest;
        double const amplitude = inside ? covariance.amplitude(unit * unit * square) : 0.0;
        // Each |m| > 0 stands for m and -m.
        int const twins = (x > 0 ? 2 : 1) * (y > 0 ? 2 : 1) * (z > 0 ? 2 : 1);
        sum += twins * (amplitude * amplitude);
        spectrum.deviation.push_back(amplitude);
      }
    }
  }
  double const scale = std::sqrt(options.variance / sum);
  for (double& deviation : spectrum.deviation) deviation *= scale;
  return spectrum;
}

}  // namespace voxcycle
