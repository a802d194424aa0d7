// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/communicator.hpp"

#include <cstdlib>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

class NothingToWaitFor final : public PendingReduction {
 public:
  void wait() override {}
};

class SelfCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int local_size() const override { return 1; }
  std::string transport() const override { return "self"; }
  void all_reduce(at::Tensor&, ReduceOperation) const override {}
  std::unique_ptr<PendingReduction> start_all_reduce(at::Tensor&, ReduceOperation) const override {
    return std::make_unique<NothingToWaitFor>();
  }
  void broadcast(at::Tensor&, int) const override {}
  at::Tensor all_gather(at::Tensor const& values) const override { return values.unsqueeze(0); }
  Neighbours exchange(at::Tensor const&, at::Tensor const&) const override { return {}; }
  std::unique_ptr<Communicator> split(int) const override { return make_self_communicator(); }
  void barrier() const override {}
  [[noreturn]] void abort(int code) const noexcept override { std::_Exit(code); }
};

}  // namespace

std::unique_ptr<Communicator> make_self_communicator() {
  return std::make_unique<SelfCommunicator>();
}

}  // namespace voxcycle
