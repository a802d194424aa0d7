// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Float sums over all ranks in buckets, each on its way as soon as it is full, while backward
/// computes the next gradients. All ranks add the same parameters in the same order.
class GradientBuckets {
 public:
  explicit GradientBuckets(Communicator const& comm);

  /// Forgets an unfinished pass.
  void begin();
  /// Adds this rank's gradient of `parameter`, flat in the parameter's memory order.
  /// **Collective**.
  void add(at::Tensor const& parameter, at::Tensor const& sum);
  /// Waits for all sums and sets grad() of the parameters added. **Collective**.
  void finish();
  /// Whether the sums of the newest finish() are finite: [1] bool, where they are.
  at::Tensor finite() const;

 private:
  struct Bucket {
    std::vector<at::Tensor> parameters;
    at::Tensor values;  ///< the sums, one after the other
    std::unique_ptr<PendingReduction> pending;
  };
  void send();

  Communicator const& comm_;
  std::vector<at::Tensor> parameters_;  ///< of the bucket that fills
  std::vector<at::Tensor> sums_;
  std::int64_t bytes_ = 0;
  std::vector<Bucket> sent_;
  at::Tensor finite_;  ///< a bool a bucket of the newest finish()
};

}  // namespace voxcycle
