// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace voxcycle {

/// A process's stay in one collective call: it waits there for the last of the processes, then for
/// the data. On a GPU it is torch's current stream that stays.
struct CollectiveCall {
  char const* name;  ///< for people
  double begin;      ///< seconds since the clock was started; on a GPU, when the host asked for it
  double seconds;
  std::int64_t bytes = 0;  ///< that this process puts into it; as Traffic
};

/// Another communicator, with a clock for this process's collective calls and those of the
/// communicators split from it. It changes no value, and makes nobody wait.
class ClockedCommunicator final : public Communicator {
 public:
  /// @param comm  must outlive this
  explicit ClockedCommunicator(Communicator const& comm);

  /// Notes calls from now on, if there are others to wait for.
  void start_clock();
  /// @return the calls since then; a GPU's are waited for
  std::vector<CollectiveCall> stop_clock();

  int rank() const override { return comm_.rank(); }
  int size() const override { return comm_.size(); }
  int local_size() const override { return comm_.local_size(); }
  std::string transport() const override { return comm_.transport(); }
  void all_reduce(at::Tensor& values, ReduceOperation operation) const override;
  /// Clocked is its wait().
  std::unique_ptr<PendingReduction> start_all_reduce(at::Tensor& values,
                                                     ReduceOperation operation) const override;
  void broadcast(at::Tensor& values, int root) const override;
  at::Tensor all_gather(at::Tensor const& values) const override;
  Neighbours exchange(at::Tensor const& to_before, at::Tensor const& to_behind) const override;
  std::unique_ptr<Communicator> split(int number) const override;
  void barrier() const override;
  [[noreturn]] void abort(int code) const noexcept override;
  bool claim_error() const noexcept override { return comm_.claim_error(); }

 private:
  class Clock;
  class Reduction;
  ClockedCommunicator(std::unique_ptr<Communicator> part, std::shared_ptr<Clock> clock);

  std::unique_ptr<Communicator> part_;  ///< of another one; null: not ours
  Communicator const& comm_;
  std::shared_ptr<Clock> clock_;
};

}  // namespace voxcycle
