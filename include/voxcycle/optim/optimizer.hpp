// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/named_tensors.hpp"

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Parameters that share a rate: `rate_factor` times the rate of the step.
struct ParameterGroup {
  std::vector<at::Tensor> parameters;
  std::vector<std::string> names;  ///< one a parameter, unique over all groups
  double rate_factor = 1.0;
};

/// A first-order method. It reads the parameters' grad() and changes the parameters in place; the
/// same gradients give the same bits on every rank.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// One step with the given rate. Parameters without a gradient stay as they are.
  void step(double rate);
  /// The same, for a graph that is launched again with other rates.
  /// @param rate  0-dimensional float32 (torch's kernels for GPUs take no other), where the
  /// parameters are
  virtual void step(at::Tensor const& rate) = 0;
  /// Everything that a resumed run needs, by unique names, in float32 or float64; writing into
  /// these tensors restores it.
  virtual NamedTensors state() = 0;
  /// Means of the squared gradient, bias-corrected, of the parameters that the method keeps them
  /// for: by the parameters' names, of their shapes.
  virtual NamedTensors second_moments() const { return {}; }
};

struct OptimizerOptions {
  std::string name = "muon";
  double beta1 = 0.9;    ///< adam: decay of the first moments, [0, 1)
  double beta2 = 0.999;  ///< adam: decay of the second moments, [0, 1)
  /// adam: added to the root of the second moment, > 0. Far below torch's 1e-8: gradients of a
  /// network that corrects a good first guess have root mean squares of 2e-10 to 3e-8.
  double epsilon = 1e-12;
  double momentum = 0.9;        ///< sgd, [0, 1)
  double muon_momentum = 0.95;  ///< muon, [0, 1)
  double adam_ratio = 0.08;     ///< muon: rate of Adam's part relative to the step's rate, > 0

  bool operator==(OptimizerOptions const&) const = default;
};

/// Names accepted by make_optimizer.
std::vector<std::string> optimizer_names();
/// @throws Error for an unknown name, listing the valid ones.
std::unique_ptr<Optimizer> make_optimizer(OptimizerOptions const& options,
                                          std::vector<ParameterGroup> groups);
}  // namespace voxcycle
