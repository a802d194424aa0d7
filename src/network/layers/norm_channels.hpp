// SPDX-License-Identifier: BSD-3-Clause
// What normalisation computes once a channel, between sums over voxels and loops over voxels: loops
// on the CPU, kernels on a GPU (core/element_job.hpp), so that the host waits for no sum. In
// float64.
#pragma once

#include "voxcycle/core/element_job.hpp"

#include <cmath>
#include <cstdint>

namespace voxcycle::norm_channels {

/// An array of float32 or float64.
struct Reals {
  void* values = nullptr;
  bool wide = false;  ///< float64

  VOXCYCLE_BOTH double get(std::int64_t i) const {
    return wide ? static_cast<double const*>(values)[i] : static_cast<float const*>(values)[i];
  }
  VOXCYCLE_BOTH void set(std::int64_t i, double value) const {
    if (wide) {
      static_cast<double*>(values)[i] = value;
    } else {
      static_cast<float*>(values)[i] = static_cast<float>(value);
    }
  }
  /// Moves towards `fresh` by its weight; with 1 all is forgotten, NaN too.
  VOXCYCLE_BOTH void move(std::int64_t i, double fresh, double weight) const {
    set(i, weight == 1.0 ? fresh : get(i) + weight * (fresh - get(i)));
  }
};

/// Statistics of a batch from its sums. Moves the running ones.
struct BatchJob {
  double const* sums;  ///< [2, channels] of x and of x^2
  std::int64_t channels;
  double count;         ///< of values a channel
  double epsilon;       ///< added to the variance
  double weight;        ///< of this batch in running statistics
  bool first_is_whole;  ///< statistics that no batch has touched become this one's
  Reals running_mean, running_var;
  double *mean, *inverse_std;  ///< [channels]

  VOXCYCLE_BOTH void operator()(std::int64_t c) const {
    double const m = sums[c] / count;
    double var = sums[channels + c] / count - m * m;
    if (var < 0.0) var = 0.0;
    mean[c] = m;
    inverse_std[c] = 1.0 / std::sqrt(var + epsilon);
    bool const untouched = running_mean.get(c) == 0.0 && running_var.get(c) == 1.0;
    double const by = first_is_whole && untouched ? 1.0 : weight;
    running_mean.move(c, m, by);
    running_var.move(c, var * (count / (count > 2.0 ? count - 1.0 : 1.0)), by);
  }
};

/// y = leaky(scale x + shift): what the loops over voxels need, for each set of statistics.
struct AffineJob {
  double const *mean, *inverse_std;  ///< [sets, channels]
  std::int64_t channels;
  Reals gamma, beta;           ///< [channels]
  Reals scale, shift, center;  ///< [sets, channels]; center is the mean

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    double const factor = gamma.get(i % channels) * inverse_std[i];
    scale.set(i, factor);
    shift.set(i, beta.get(i % channels) - mean[i] * factor);
    center.set(i, mean[i]);
  }
};

/// Gradients of gamma and beta, and dx = scale g + linear x + constant, where all samples have one
/// set of statistics: dx = inverse_std (gamma g - k1 - xhat k2), with k1 and k2 the means of gamma
/// g and gamma g xhat (Ioffe and Szegedy 2015), without them if the statistics do not depend on x.
struct GradientsJob {
  double const* sums;  ///< [2, channels] of g and g (x - mean)
  std::int64_t channels;
  double count;                      ///< of values a channel; 0: statistics are fixed
  double const *mean, *inverse_std;  ///< [channels]
  Reals gamma;
  Reals dgamma, dbeta;
  Reals linear, constant;

  VOXCYCLE_BOTH void operator()(std::int64_t c) const {
    double const sum_g = sums[c], sum_g_xhat = sums[channels + c] * inverse_std[c];
    dbeta.set(c, sum_g);
    dgamma.set(c, sum_g_xhat);
    double const k1 = count > 0.0 ? gamma.get(c) * sum_g / count : 0.0;
    double const k2 = count > 0.0 ? gamma.get(c) * sum_g_xhat / count : 0.0;
    double const gradient_of_x = -(inverse_std[c] * inverse_std[c] * k2);
    linear.set(c, gradient_of_x);
    constant.set(c, -(inverse_std[c] * k1) - mean[c] * gradient_of_x);
  }
};

using Jobs = std::tuple<BatchJob, AffineJob, GradientsJob>;

}  // namespace voxcycle::norm_channels
