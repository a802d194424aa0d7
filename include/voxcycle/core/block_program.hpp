// SPDX-License-Identifier: BSD-3-Clause
// GPU kernels as block programs: templates over the block that plays them. On a GPU that is
// DeviceBlock (device_block.cuh), on a CPU EmulatedBlock, so that tests without a GPU run the very
// source that the GPU runs. A program says what each thread does between barriers:
//
//   template <class Block>
//   VOXCYCLE_BOTH void program(Block& block, Shared& shared, Job const& job) {
//     typename Block::template Private<State> states;
//     block.each([=, &states, &shared](int thread) { shared.x[thread] = states[thread].begin(); });
//     block.sync();
//     ...
//   }
//
// Work captures loop variables by value: it may be done later. A program ends with a barrier.
#pragma once

#include "voxcycle/core/host_device.hpp"

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace voxcycle {

/// Threads of a block, unless a program says otherwise.
constexpr int block_threads = 256;

/// Adds up shared[0 .. threads) in a fixed tree; the sum is in shared[0] after the last barrier.
/// @tparam threads  of the block, a power of two
template <int threads = block_threads, class Block>
VOXCYCLE_BOTH void sum_over_block(Block& block, double* shared) {
  static_assert((threads & (threads - 1)) == 0);
  block.sync();
  for (int half = threads / 2; half > 0; half /= 2) {
    block.each([=](int thread) {
      if (thread < half) shared[thread] += shared[thread + half];
    });
    block.sync();
  }
}

/// sums[index] = sum of values[index * count .. (index + 1) * count), in a fixed order.
template <class Block>
VOXCYCLE_BOTH void sum_row_block(Block& block, double* shared, double const* values,
                                 std::int64_t count, double* sums, std::int64_t index) {
  block.each([=](int thread) {
    double sum = 0.0;
    for (std::int64_t i = thread; i < count; i += block_threads) sum += values[index * count + i];
    shared[thread] = sum;
  });
  sum_over_block(block, shared);
  block.each([=](int thread) {
    if (thread == 0) sums[index] = shared[0];
  });
  block.sync();
}

/// Plays a block on the CPU. Between two barriers one thread does all of its work before the next
/// one begins, upwards or downwards: a program with a barrier too few gives wrong results in one of
/// the two orders.
class EmulatedBlock {
 public:
  enum class Order { upwards, downwards };

  explicit EmulatedBlock(Order order, int threads = block_threads)
      : order_(order), threads_(threads) {}

  /// A variable that each thread has for itself.
  template <class State>
  class Private {
   public:
    State& operator[](int thread) { return states_[static_cast<std::size_t>(thread)]; }

   private:
    std::vector<State> states_ = std::vector<State>(block_threads);
  };

  template <class Work>
  void each(Work work) {
    pending_.push_back(std::move(work));
  }

  void sync() {
    for (int i = 0; i < threads_; ++i) {
      int const thread = order_ == Order::upwards ? i : threads_ - 1 - i;
      for (auto const& work : pending_) work(thread);
    }
    pending_.clear();
  }

 private:
  Order order_;
  int threads_;
  std::vector<std::function<void(int)>> pending_;
};

}  // namespace voxcycle
