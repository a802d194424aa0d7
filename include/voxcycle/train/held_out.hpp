// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/process_grid.hpp"
#include "voxcycle/dataset/held_out.hpp"
#include "voxcycle/network/predict.hpp"

#include <cstdint>
#include <functional>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Errors of every held-out sample, the same on all ranks: [S], float64, fractions.
struct HeldOutErrors {
  at::Tensor rel_l2;
  at::Tensor energy_gap;
  at::Tensor energy_norm_error;
};

struct HeldOutOptions {
  at::ScalarType dtype = at::kFloat;  ///< of convolutions
  std::int64_t micro_batch_size = 2;
  /// Called now and then with the share of this rank's samples that is done, (0, 1].
  std::function<void(double)> after_share{};
  /// Gets the solution of the first sample and its reference, on the ranks that compute it (0, and
  /// those that share it out with it).
  std::function<void(at::Tensor const& u, at::Tensor const& u_ref)> with_first{};
  /// Asked before every micro-batch, on each rank for itself; empty: never.
  std::function<bool()> stop_wanted{};
};

/// Of convolutions in evaluations: float32, which shows errors below 0.1 % that 16 bits hide, but
/// above 256^3, where it may not fit, train.precision.
at::ScalarType evaluation_type(Grid3 const& grid, at::ScalarType training);

/// Runs the network (with running statistics) on all held-out samples, shared out over the ranks in
/// micro-batches, and compares with the references; each rank reads its own samples alone, or its
/// planes of them. **Collective**.
/// @throws StopRequested on all ranks where one of them wants to stop.
HeldOutErrors evaluate_held_out(ProcessGrid const& all, Network& network,
                                HeldOutSamples const& samples, HeldOutOptions const& options = {});

/// @throws Error on all ranks if an error is not finite.
void require_finite(HeldOutErrors const& errors);

}  // namespace voxcycle
