// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/dataset/held_out.hpp"
#include "voxcycle/evaluate/comparison.hpp"
#include "voxcycle/field/source.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/poisson/boundary.hpp"

#include <cstdint>
#include <functional>
#include <string>

#include <ATen/core/Tensor.h>

namespace voxcycle {

struct CompareOptions {
  Boundary boundary{};
  Source source{};                    ///< as in training
  at::ScalarType dtype = at::kFloat;  ///< of the network's convolutions
  double tolerance = 1e-8;
  std::int64_t max_samples = 16;
  std::int64_t batch = 8;
  std::string device = "the CPU";             ///< that has the network, for people
  std::function<void(double)> after_share{};  ///< called now and then with what is done, (0, 1]
};

/// Measures in this process alone, with all its threads, or on the GPU that has the network:
/// network one sample at a time and batched, network and one multigrid V-cycle on its residual, one
/// full multigrid pass (F-cycle), multigrid-preconditioned conjugate gradients to the network's own
/// energy-norm error (as many iterations as the references say that a sample needs), and to the
/// tolerance from the lift and from the network's solution. Every method runs once before the clock
/// starts; then the methods take turns sample by sample, so that a busy machine slows all of them.
/// The hierarchy is multigrid_options_for's choice, made anew for each sample and method: nothing
/// is shared or given away for free. Not collective.
/// @throws Error if there are no samples.
Comparison compare_methods(Communicator const& comm, Network& network,
                           HeldOutSamples const& samples, CompareOptions const& options);

}  // namespace voxcycle
