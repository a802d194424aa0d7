// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/core/error.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

enum class GradientMode {
  exact,  ///< integer sums: the same bits for any number of ranks
  fast,   ///< float sums, which depend on the number of ranks
};

/// A sum of gradients is not finite; thrown on all ranks.
class NotFiniteGradient : public Error {
 public:
  using Error::Error;
};

/// Collects weight gradients micro-batch by micro-batch while backward runs and sums them over all
/// micro-batches of all ranks, in buckets that are on their way while it goes on. A pass that ends
/// with finish() leaves the summed gradients in the parameters' grad().
class GradientReducer {
 public:
  /// @param parameters  float32 or float64 leaf tensors, in the same order on all ranks
  GradientReducer(Communicator const& comm, std::vector<at::Tensor> parameters, GradientMode mode);
  ~GradientReducer();
  GradientReducer(GradientReducer const&) = delete;
  GradientReducer& operator=(GradientReducer const&) = delete;

  /// Forgets an unfinished pass. @param total_micro_batches  most that all ranks will add for a
  /// parameter in the next one
  void begin(std::int64_t total_micro_batches);
  /// Adds one micro-batch's gradient, or the part of it that a slab gives, of `parameter` (any
  /// float dtype, any layout, shape of the parameter). May keep it: it must not change before
  /// finish().
  void add_micro_batch(at::Tensor const& parameter, at::Tensor const& gradient);
  /// Says that this rank has added all its micro-batches of `parameter` (none, if it owns none).
  /// Every rank closes the same parameters in the same order; a full bucket of them sets off.
  /// **Collective**.
  void close(at::Tensor const& parameter);
  /// Sets a gradient that is already summed over all ranks (batch-norm weights).
  void set_total(at::Tensor const& parameter, at::Tensor const& gradient);
  /// Sets grad() of every parameter that was closed to its sum; the others' grad() is undefined.
  /// On one rank nothing waits for a GPU. **Collective**.
  void sum_up();
  /// Whether the gradients of the newest sums are finite: [1] bool, where they are.
  at::Tensor finite() const;
  /// @throws NotFiniteGradient on all ranks if they are not.
  void require_finite() const;
  /// Both of these.
  void finish();
  /// The share of the newest sums' bytes that set off before sum_up(): 0 to 1.
  double early_share() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace voxcycle
