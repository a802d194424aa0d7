// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// How the gradients of a pass are summed over micro-batches and ranks: in buckets of parameters,
/// each on its way while backward computes the next ones.
class GradientSums {
 public:
  /// Some of the parameters, by number.
  using Parts = std::vector<std::size_t>;

  virtual ~GradientSums() = default;
  /// Forgets an unfinished pass. @param total_micro_batches  most of a parameter, of all ranks
  virtual void begin(std::int64_t total_micro_batches) = 0;
  /// One micro-batch's gradient, of the parameter's shape.
  virtual void add(std::size_t parameter, at::Tensor const& gradient) = 0;
  /// Starts the sums of a bucket, whose parameters have one dtype. **Collective**.
  virtual void start(Parts const& parts) = 0;
  /// Waits for all buckets and sets grad() of their parameters. **Collective**.
  virtual void finish() = 0;
  /// Of the newest finish(): [parameters in the order of their buckets] bool, whether the sums are
  /// finite, where they are. Float sums tell it of whole buckets.
  virtual at::Tensor finite() const = 0;
};

/// Integer sums with a common power of two for each parameter: the same bits for any number of
/// ranks. A bucket sends its exponents first; the next bucket's start finds them there.
std::unique_ptr<GradientSums> make_exact_gradient_sums(Communicator const& comm,
                                                       std::vector<at::Tensor> const& parameters);
/// Float sums, which depend on the number of ranks.
std::unique_ptr<GradientSums> make_float_gradient_sums(Communicator const& comm,
                                                       std::vector<at::Tensor> const& parameters);

}  // namespace voxcycle
