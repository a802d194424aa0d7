// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/comm/traffic.hpp"

#include <cstdint>

namespace voxcycle {

/// One of `size` processes that are not there, for rehearsals (core/rehearsal.hpp): nothing
/// is sent, and what would be is counted.
class RehearsedCommunicator final : public Communicator {
 public:
  /// The first of all. @param part_size  of the groups that split() makes
  explicit RehearsedCommunicator(int size, int part_size = 1, int rank = 0);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_size() const override { return 1; }
  std::string transport() const override { return "rehearsal"; }
  void all_reduce(at::Tensor& values, ReduceOperation operation) const override;
  std::unique_ptr<PendingReduction> start_all_reduce(at::Tensor& values,
                                                     ReduceOperation operation) const override;
  void broadcast(at::Tensor& /*values*/, int /*root*/) const override {}
  at::Tensor all_gather(at::Tensor const& values) const override;
  Neighbours exchange(at::Tensor const& to_before, at::Tensor const& to_behind) const override;
  std::unique_ptr<Communicator> split(int number) const override;
  void barrier() const override {}
  [[noreturn]] void abort(int code) const noexcept override;

  /// So far.
  Traffic const& traffic() const { return *own_; }
  /// Of the groups that split() made.
  Traffic const& traffic_of_parts() const { return *of_parts_; }

 private:
  int size_;
  int part_size_;
  int rank_;
  std::shared_ptr<Traffic> own_ = std::make_shared<Traffic>();
  std::shared_ptr<Traffic> of_parts_ = std::make_shared<Traffic>();
};

}  // namespace voxcycle
