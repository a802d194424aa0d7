// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/network/network.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace voxcycle {

/// A network's parameters, then its running statistics: the tensors themselves.
std::vector<at::Tensor> all_values(Network const& network);

/// Exponential moving average of a network's weights and running statistics, held in a second
/// network of the same shape that is used for evaluation. Averaging halves the error while the rate
/// is high; its horizon follows the stage's length.
class AveragedWeights {
 public:
  /// @param average  a network of the same shape; overwritten with `network`'s values
  AveragedWeights(Network const& network, std::shared_ptr<Network> average);

  /// Starts a stage: the average of its first steps is a plain mean, later ones decay over the
  /// horizon.
  void begin_stage() { updates_ = 0; }
  /// Steps that the average looks back, at least 1.
  void set_horizon(double steps);
  /// Counts an update. @return the weight of the current weights in it, (0, 1]
  double next_weight();
  /// Takes the current weights in. @param weight  0-dimensional float32, where they are
  void update(at::Tensor const& weight);

  Network& network() { return *average_; }
  /// Updates since begin_stage; part of a checkpoint.
  std::int64_t updates() const { return updates_; }
  void restore(std::int64_t updates) { updates_ = updates; }

 private:
  std::shared_ptr<Network> average_;
  std::vector<at::Tensor> from_;
  std::vector<at::Tensor> to_;
  double horizon_ = 1.0;
  std::int64_t updates_ = 0;
};

}  // namespace voxcycle
