// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/network/forward_context.hpp"
#include "voxcycle/network/norm.hpp"
#include "voxcycle/network/scripted.hpp"
#include "voxcycle/network/statistics_record.hpp"

#include <cstdint>

#include <torch/nn/module.h>

namespace voxcycle {

/// See NormOptions::momentum.
inline constexpr double kSamplesOfMomentum = 8.0;

struct NormOptions {
  Norm norm = Norm::sync_batch;
  std::int64_t channels = 1;
  std::int64_t groups = 8;  ///< group norm: number of groups (at most channels)
  double epsilon = 1e-5;    ///< added to variances
  /// Weight of eight new samples in running statistics; other batches count as if their samples
  /// came in eights, so that a few small batches on a fine grid do not outweigh thousands of
  /// samples on coarser ones. The first batch that a layer sees is taken as it is.
  double momentum = 0.1;
  double negative_slope = 0.1;  ///< of the leaky ReLU
};

/// Normalisation and leaky ReLU in one pass over memory:
///
///     y = leaky(gamma (x - mean) / sqrt(var + epsilon) + beta)
///
/// Ioffe and Szegedy 2015; synchronised over ranks: sums and counts of all micro-batches are summed
/// exactly (exact_sum), so statistics and their gradients are those of the whole batch, with the
/// same bits for any number of ranks and true counts for uneven shares. Statistics in float64, on
/// the device of the micro-batches: the host waits for none of them. Running statistics use the
/// unbiased variance. In evaluation, and where gamma takes no gradient (a frozen layer), sync_batch
/// uses the running statistics. **Collective** forward and backward.
class NormAct : public torch::nn::Module, public Scripted {
 public:
  explicit NormAct(NormOptions const& options);
  /// @param x  micro-batches [n, channels, x, y, z] of context.dtype, in context.layout; those that
  /// nobody else
  ///           holds are overwritten where no gradient is recorded
  MicroBatches forward(ForwardContext const& context, MicroBatches x);
  Script script() const override;

  at::Tensor gamma;         ///< [channels]
  at::Tensor beta;          ///< [channels]
  at::Tensor running_mean;  ///< [channels]
  at::Tensor running_var;   ///< [channels]

 private:
  /// Whether sync_batch normalises by the batch.
  bool takes_batch(ForwardContext const& context) const;
  /// One set for all micro-batches, or one a micro-batch; moves the running statistics.
  std::vector<BatchStatistics> take_statistics(ForwardContext const& context,
                                               MicroBatches const& x);

  NormOptions options_;
};

}  // namespace voxcycle
