// SPDX-License-Identifier: BSD-3-Clause
// Coefficients of normalisation as tensors, [1, C] common to all samples or [n, C] a sample, on the
// device of what they are made from; on a GPU nothing waits for them.
#pragma once

#include "voxcycle/network/statistics_record.hpp"

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace voxcycle::norm_coefficients {

/// How a batch changes running statistics (NormOptions::momentum).
struct Momentum {
  double weight = 0.1;         ///< of the batch
  bool first_is_whole = true;  ///< a channel that no batch has touched takes it as it is
};

/// BatchStatistics of a batch; moves the running ones, whose variance is the unbiased one.
/// @param sums   [2C] float64, of x and x^2
/// @param count  values a channel
/// @param running_mean, running_var  [C] float32 or float64
BatchStatistics of_batch(at::Tensor const& sums, double count, double epsilon,
                         Momentum const& momentum, at::Tensor const& running_mean,
                         at::Tensor const& running_var);

/// y = leaky(scale x + shift); center is the mean.
struct Affine {
  at::Tensor scale, shift, center;
};

/// @param compute  type that the loops over voxels compute in
Affine affine(BatchStatistics const& moments, at::Tensor const& gamma, at::Tensor const& beta,
              at::ScalarType compute);

/// Gradients of gamma and beta, [C] in their type, and dx = scale g + linear x + constant.
struct Gradients {
  at::Tensor dgamma, dbeta, linear, constant;
};

/// With one set of statistics for all samples.
/// @param sums   [2C] float64, of g and g (x - mean)
/// @param count  values a channel; 0 if the statistics do not depend on x
Gradients gradients(at::Tensor const& sums, double count, BatchStatistics const& moments,
                    at::Tensor const& gamma, at::ScalarType compute);

}  // namespace voxcycle::norm_coefficients
