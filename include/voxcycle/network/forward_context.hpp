// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/comm/gradient_reducer.hpp"
#include "voxcycle/comm/space.hpp"

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

namespace c10 {
struct IValue;
}

namespace voxcycle {

/// The micro-batches (see grid/micro_batches.hpp) of one rank, one tensor each, or several in a
/// tensor (ForwardContext::micro_batch_size). Every layer maps micro-batches to micro-batches.
/// Whatever adds up samples computes each micro-batch with the same shapes whoever owns it, so that
/// its bits do not depend on the number of ranks. A rank that owns none passes one micro-batch of
/// zero samples: it still takes part in every sum.
using MicroBatches = std::vector<at::Tensor>;

class StatisticsRecord;

/// What all layers of one forward pass need to know. What it refers to must outlive the backward
/// pass too.
struct ForwardContext {
  Communicator const& comm;
  /// The processes that compute the same micro-batches as this one (network/spatial.hpp). Null: no
  /// other does.
  Communicator const* spatial = nullptr;
  Slabs slabs = {};  ///< of the space they share out; count is that of `spatial`
  /// The grid of the level under way, where it has several parts: features are those of own voxels.
  std::shared_ptr<Space const> space = nullptr;
  /// Where weight gradients go, micro-batch by micro-batch. Null: they flow to the parameters by
  /// autograd, summed over this rank alone (tests, single-process use).
  GradientReducer* reducer = nullptr;
  at::Device device = at::kCPU;  ///< where the network and its micro-batches are
  bool training = true;          ///< batch statistics (true) or running statistics
  /// Weight of this batch in running statistics, 1: they become its own; negative: as the layers
  /// were made (NormOptions::momentum).
  double statistics_weight = -1.0;
  at::ScalarType dtype = at::kFloat;  ///< of convolutions and activations
  /// Of convolutions and activations; Contiguous is torch's default, to compare with.
  at::MemoryFormat layout = at::MemoryFormat::ChannelsLast3d;
  std::int64_t total_micro_batches = 1;  ///< of all ranks
  std::int64_t total_samples = 1;        ///< of all ranks
  /// Samples of a micro-batch where one tensor holds several, whose weight gradients are terms of
  /// their own; 0: each tensor is one.
  std::int64_t micro_batch_size = 0;
  /// Whether pieces of the network keep only their inputs for backward (recompute.hpp).
  bool recompute = false;
  StatisticsRecord* statistics = nullptr;  ///< of the piece under way, if it will run again

  bool in_slabs() const { return space != nullptr; }
  /// Whether this process's terms go into sums over all ranks: what several compute alike counts
  /// once.
  bool counts() const { return in_slabs() || spatial == nullptr || spatial->rank() == 0; }
  /// Times that a micro-batch's terms go into such sums.
  std::int64_t shares() const { return in_slabs() ? slabs.parts_of_cut() : 1; }
};

/// A pass as autograd's functions keep it for their backward.
c10::IValue as_value(ForwardContext const& context);
ForwardContext const& context_of(c10::IValue const& value);

/// Applies a torch operation to every micro-batch.
template <class Operation>
MicroBatches each(MicroBatches const& x, Operation const& operation) {
  MicroBatches y;
  y.reserve(x.size());
  for (auto const& micro_batch : x) y.push_back(operation(micro_batch));
  return y;
}

template <class Operation>
MicroBatches each(MicroBatches const& a, MicroBatches const& b, Operation const& operation) {
  MicroBatches y;
  y.reserve(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) y.push_back(operation(a[k], b[k]));
  return y;
}

}  // namespace voxcycle
