// SPDX-License-Identifier: BSD-3-Clause
// The parts of a training step that know nothing of clocks and of the host's numbers: they can be
// recorded (stage_steps.hpp).
#pragma once

#include "voxcycle/network/forward_context.hpp"
#include "voxcycle/train/train_step.hpp"

#include <functional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

ForwardContext forward_context(BatchContext const& c, BatchOptions const& options);

/// What losses look at, micro-batch by micro-batch, but u: on the device, in its type. A rank
/// without micro-batches takes part with an empty one.
std::vector<LossInput> local_inputs(BatchContext const& c, ForwardContext const& context,
                                    LocalBatch const& batch);

/// What forward leaves to the rest of a step.
struct ForwardPass {
  MicroBatches u;
  std::vector<at::Tensor> gradients;  ///< of the mean loss in u
  at::Tensor values;                  ///< the loss of each sample, [samples]
  at::Tensor sums;                    ///< of each micro-batch, [micro-batches, 1]
};

/// Network and loss. @param lap  called between them
ForwardPass forward_pass(BatchContext const& c, ForwardContext const& context,
                         std::vector<LossInput> micro_batches, std::function<void()> const& lap);

/// @param sums  on the host @return the mean over the global batch. **Collective**.
double mean_loss(BatchContext const& c, ForwardContext const& context, at::Tensor const& sums);

/// Divides the summed gradients. Nothing waits. @param scale  0-dimensional float32, on the device
/// @return whether they are finite, the same on all ranks: [1] bool, on the device
at::Tensor unscale(BatchContext const& c, at::Tensor const& scale);
/// 0-dimensional float32, where the network is.
at::Tensor number_on(BatchContext const& c, double value);

/// Samples whose loss is not finite, in words; empty if all are.
std::string describe_bad_samples(LocalBatch const& batch, at::Tensor const& values);

/// @throws Error, on all ranks, if the loss is not finite.
void require_finite(BatchContext const& c, double loss, std::string const& bad_samples);

/// Optimiser and averaging. @param rate, average_weight  0-dimensional float32, on the device
void update(StepContext const& c, at::Tensor const& rate, at::Tensor const& average_weight);

}  // namespace voxcycle
