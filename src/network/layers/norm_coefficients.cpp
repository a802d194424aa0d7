// SPDX-License-Identifier: BSD-3-Clause
#include "network/layers/norm_coefficients.hpp"

#include "voxcycle/core/error.hpp"

#include "network/layers/norm_channels.hpp"
#include <ATen/ATen.h>

namespace voxcycle::norm_coefficients {
namespace {

using norm_channels::Reals;

Reals reals(at::Tensor const& values) {
  bool const wide = values.scalar_type() == at::kDouble;
  VOXCYCLE_ASSERT(values.is_contiguous() && (wide || values.scalar_type() == at::kFloat));
  return {values.mutable_data_ptr(), wide};
}

constexpr auto kName = "coefficients of normalisation";

}  // namespace

BatchStatistics of_batch(at::Tensor const& sums, double count, double epsilon,
                         Momentum const& momentum, at::Tensor const& running_mean,
                         at::Tensor const& running_var) {
  std::int64_t const channels = sums.numel() / 2;
  BatchStatistics const moments{at::empty({1, channels}, sums.options()),
                                at::empty({1, channels}, sums.options())};
  for_elements(
      kName, sums.device().index(), channels,
      norm_channels::BatchJob{.sums = sums.const_data_ptr<double>(),
                              .channels = channels,
                              .count = count,
                              .epsilon = epsilon,
                              .weight = momentum.weight,
                              .first_is_whole = momentum.first_is_whole,
                              .running_mean = reals(running_mean),
                              .running_var = reals(running_var),
                              .mean = moments.mean.mutable_data_ptr<double>(),
                              .inverse_std = moments.inverse_std.mutable_data_ptr<double>()});
  return moments;
}

Affine affine(BatchStatistics const& moments, at::Tensor const& gamma, at::Tensor const& beta,
              at::ScalarType compute) {
  auto const empty = [&] {
    return at::empty_like(moments.mean, moments.mean.options().dtype(compute));
  };
  Affine const result{empty(), empty(), empty()};
  for_elements(kName, moments.mean.device().index(), moments.mean.numel(),
               norm_channels::AffineJob{.mean = moments.mean.const_data_ptr<double>(),
                                        .inverse_std = moments.inverse_std.const_data_ptr<double>(),
                                        .channels = gamma.numel(),
                                        .gamma = reals(gamma),
                                        .beta = reals(beta),
                                        .scale = reals(result.scale),
                                        .shift = reals(result.shift),
                                        .center = reals(result.center)});
  return result;
}

Gradients gradients(at::Tensor const& sums, double count, BatchStatistics const& moments,
                    at::Tensor const& gamma, at::ScalarType compute) {
  std::int64_t const channels = gamma.numel();
  auto const coefficients = sums.options().dtype(compute);
  Gradients const result{
      at::empty({channels}, gamma.options()), at::empty({channels}, gamma.options()),
      at::empty({1, channels}, coefficients), at::empty({1, channels}, coefficients)};
  for_elements(
      kName, sums.device().index(), channels,
      norm_channels::GradientsJob{.sums = sums.const_data_ptr<double>(),
                                  .channels = channels,
                                  .count = count,
                                  .mean = moments.mean.const_data_ptr<double>(),
                                  .inverse_std = moments.inverse_std.const_data_ptr<double>(),
                                  .gamma = reals(gamma),
                                  .dgamma = reals(result.dgamma),
                                  .dbeta = reals(result.dbeta),
                                  .linear = reals(result.linear),
                                  .constant = reals(result.constant)});
  return result;
}

}  // namespace voxcycle::norm_coefficients
