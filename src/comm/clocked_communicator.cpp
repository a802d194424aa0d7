// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/clocked_communicator.hpp"

#include "voxcycle/core/timer.hpp"

#include <cstdlib>
#include <utility>

#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace voxcycle {

class ClockedCommunicator::Clock {
 public:
  void start() {
    calls_.clear();
    on_gpu_.clear();
    timer_.restart();
    runs_ = true;
  }

  std::vector<CollectiveCall> stop() {
    runs_ = false;
    for (auto const& call : on_gpu_) {
      call.after.synchronize();
      calls_.push_back(
          {call.name, call.begin, 1e-3 * call.before.elapsedTime(call.after), call.bytes});
    }
    on_gpu_.clear();
    return std::exchange(calls_, {});
  }

  /// @param values  what the call is about. @param times  that they are sent
  template <class Call>
  void time(char const* name, at::Tensor const& values, Call const& call, int times = 1) {
    if (!runs_) return call();
    auto const bytes = values.defined() ? static_cast<std::int64_t>(values.nbytes()) * times : 0;
    double const begin = timer_.seconds();
    if (!values.is_cuda()) {
      call();
      calls_.push_back({name, begin, timer_.seconds() - begin, bytes});
      return;
    }
    // What the stream did before is no waiting for others, and the host may be ahead of it.
    auto const stream = c10::impl::VirtualGuardImpl(c10::kCUDA).getStream(values.device());
    OnGpu timed{name, begin, bytes, c10::Event(c10::kCUDA, c10::EventFlag::BACKEND_DEFAULT),
                c10::Event(c10::kCUDA, c10::EventFlag::BACKEND_DEFAULT)};
    timed.before.record(stream);
    call();
    timed.after.record(stream);
    on_gpu_.push_back(std::move(timed));
  }

 private:
  struct OnGpu {
    char const* name;
    double begin;
    std::int64_t bytes;
    c10::Event before, after;
  };
  bool runs_ = false;
  Timer timer_;
  std::vector<CollectiveCall> calls_;
  std::vector<OnGpu> on_gpu_;
};

class ClockedCommunicator::Reduction final : public PendingReduction {
 public:
  Reduction(std::unique_ptr<PendingReduction> pending, at::Tensor values,
            std::shared_ptr<Clock> clock)
      : pending_(std::move(pending)), values_(std::move(values)), clock_(std::move(clock)) {}
  void wait() override {
    clock_->time("all-reduce (rest)", values_, [&] { pending_->wait(); });
  }

 private:
  std::unique_ptr<PendingReduction> pending_;
  at::Tensor values_;
  std::shared_ptr<Clock> clock_;
};

ClockedCommunicator::ClockedCommunicator(Communicator const& comm)
    : comm_(comm), clock_(std::make_shared<Clock>()) {}

ClockedCommunicator::ClockedCommunicator(std::unique_ptr<Communicator> part,
                                         std::shared_ptr<Clock> clock)
    : part_(std::move(part)), comm_(*part_), clock_(std::move(clock)) {}

void ClockedCommunicator::start_clock() {
  // What one process does on a GPU may be recorded in a graph, where events have no times.
  if (size() > 1) clock_->start();
}

std::vector<CollectiveCall> ClockedCommunicator::stop_clock() {
  return clock_->stop();
}

void ClockedCommunicator::all_reduce(at::Tensor& values, ReduceOperation operation) const {
  clock_->time("all-reduce", values, [&] { comm_.all_reduce(values, operation); });
}

std::unique_ptr<PendingReduction> ClockedCommunicator::start_all_reduce(
    at::Tensor& values, ReduceOperation operation) const {
  return std::make_unique<Reduction>(comm_.start_all_reduce(values, operation), values, clock_);
}

void ClockedCommunicator::broadcast(at::Tensor& values, int root) const {
  clock_->time("broadcast", values, [&] { comm_.broadcast(values, root); });
}

at::Tensor ClockedCommunicator::all_gather(at::Tensor const& values) const {
  at::Tensor gathered;
  clock_->time("all-gather", values, [&] { gathered = comm_.all_gather(values); });
  return gathered;
}

Neighbours ClockedCommunicator::exchange(at::Tensor const& to_before,
                                         at::Tensor const& to_behind) const {
  Neighbours got;
  int const neighbours = (rank() > 0 ? 1 : 0) + (rank() + 1 < size() ? 1 : 0);
  clock_->time(
      "exchange", to_before, [&] { got = comm_.exchange(to_before, to_behind); }, neighbours);
  return got;
}

std::unique_ptr<Communicator> ClockedCommunicator::split(int number) const {
  return std::unique_ptr<Communicator>(new ClockedCommunicator(comm_.split(number), clock_));
}

void ClockedCommunicator::barrier() const {
  clock_->time("barrier", {}, [&] { comm_.barrier(); });
}

void ClockedCommunicator::abort(int code) const noexcept {
  comm_.abort(code);
  std::abort();  // compilers do not take a virtual function's word for not returning
}

}  // namespace voxcycle
