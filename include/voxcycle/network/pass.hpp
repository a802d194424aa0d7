// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/comm/gradient_reducer.hpp"
#include "voxcycle/grid/slabs.hpp"

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace c10 {
struct IValue;
}

namespace voxcycle {

/// The units (see grid/units.hpp) of one rank, one tensor each. Every layer maps units to units and
/// computes each with the same shapes whoever owns it, so that its bits do not depend on the number
/// of ranks. A rank that owns none passes one unit of zero samples: it still takes part in every
/// sum.
using Units = std::vector<at::Tensor>;

class StatisticsRecord;

/// What all layers of one forward pass need to know. What it refers to must outlive the backward
/// pass too.
struct Pass {
  Communicator const& comm;
  /// The processes that compute the same units as this one (network/space.hpp). Null: no other
  /// does.
  Communicator const* space = nullptr;
  Slabs slabs = {};       ///< of the space they share out; count is that of `space`
  bool in_slabs = false;  ///< features of the level under way are this process's slab of them
  /// Where weight gradients go, unit by unit. Null: they flow to the parameters by autograd, summed
  /// over this rank alone (tests, single-process use).
  GradientReducer* reducer = nullptr;
  at::Device device = at::kCPU;  ///< where the network and its units are
  bool training = true;          ///< batch statistics (true) or running statistics
  /// Weight of this batch in running statistics, 1: they become its own; negative: as the layers
  /// were made (NormOptions::momentum).
  double statistics_weight = -1.0;
  at::ScalarType dtype = at::kFloat;  ///< of convolutions and activations
  /// Of convolutions and activations; Contiguous is torch's default, to compare with.
  at::MemoryFormat layout = at::MemoryFormat::ChannelsLast3d;
  std::int64_t total_units = 1;    ///< of all ranks
  std::int64_t total_samples = 1;  ///< of all ranks
  /// Whether pieces of the network keep only their inputs for backward (recompute.hpp).
  bool recompute = false;
  StatisticsRecord* statistics = nullptr;  ///< of the piece under way, if it will run again

  /// Whether this process's terms go into sums over all ranks: what several compute alike counts
  /// once.
  bool counts() const { return in_slabs || space == nullptr || space->rank() == 0; }
  /// Times that a unit's terms go into such sums.
  std::int64_t shares() const { return in_slabs ? slabs.count : 1; }
};

/// A pass as autograd's functions keep it for their backward.
c10::IValue as_value(Pass const& pass);
Pass const& pass_of(c10::IValue const& value);

/// Applies a torch operation to every unit.
template <class Operation>
Units each(Units const& x, Operation const& operation) {
  Units y;
  y.reserve(x.size());
  for (auto const& unit : x) y.push_back(operation(unit));
  return y;
}

template <class Operation>
Units each(Units const& a, Units const& b, Operation const& operation) {
  Units y;
  y.reserve(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) y.push_back(operation(a[k], b[k]));
  return y;
}

}  // namespace voxcycle
