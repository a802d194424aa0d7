// SPDX-License-Identifier: BSD-3-Clause
// That the emulated GPU refuses what a GPU refuses, so that other tests on it can fail.
#include "voxcycle/core/device.hpp"

#include <cmath>
#include <csignal>
#include <cstdlib>

#include "../memory.hpp"
#include "../streams.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

using testing::KilledBySignal;

at::TensorOptions const kGpu = at::TensorOptions(at::Device(at::kCUDA, 0));

TEST(EmulatedGpu, ComputesAsTheCpuDoes) {
  at::manual_seed(1);
  at::Tensor const x = at::randn({3, 4}), y = at::randn({4, 5});
  at::Tensor const there = at::matmul(x.cuda(), y.cuda()).add_(1).narrow(1, 1, 3).t();
  EXPECT_TRUE(there.is_cuda());
  EXPECT_TRUE(at::equal(there.cpu(), (at::matmul(x, y) + 1).narrow(1, 1, 3).t()));
  EXPECT_EQ(at::arange(5, kGpu).sum().item<std::int64_t>(), 10);
}

TEST(EmulatedGpu, IsClosedToTheHost) {
  at::Tensor const x = at::ones({4}, kGpu);
  auto* const values = x.mutable_data_ptr<float>();
  EXPECT_EXIT(values[0] = 2.0F, KilledBySignal(SIGSEGV), "the host touched GPU memory");
  EXPECT_EXIT(std::exit(static_cast<int>(values[0])), KilledBySignal(SIGSEGV), "the host touched");
}

TEST(EmulatedGpu, KeepsDevicesApart) {
  EXPECT_ANY_THROW(at::ones({4}, kGpu) + at::ones({4}));
  EXPECT_ANY_THROW(at::ones({2, 2}, kGpu).mm(at::ones({2, 2})));
  EXPECT_ANY_THROW(at::empty({1}, at::TensorOptions(at::Device(at::kCUDA, 1))));
  EXPECT_NO_THROW(at::ones({4}, kGpu) + at::scalar_tensor(1.0F));
}

TEST(EmulatedGpu, HasNoUsefulValuesInFreshMemory) {
  EXPECT_TRUE(at::empty({8}, kGpu).isnan().all().item<bool>());
  void* address = nullptr;
  {
    at::Tensor const x = at::ones({8}, kGpu);
    address = x.mutable_data_ptr();
  }
  auto const* const freed = static_cast<float*>(emulated_gpu::kernel_view(0, address));
  EXPECT_TRUE(std::isnan(freed[0]));
}

TEST(EmulatedGpu, PutsOffWorkInSideStreams) {
  int done = 0;
  SideStream const side(0);
  emulated_gpu::enqueue(side.queue().stream, [&] { done = 1; });
  StreamEvent const mark(side.queue());
  emulated_gpu::enqueue(side.queue().stream, [&] { done = 2; });
  EXPECT_EQ(done, 0);
  mark.hold(current_queue(0));
  EXPECT_EQ(done, 1);
  wait_for(side.queue());
  EXPECT_EQ(done, 2);
}

TEST(EmulatedGpu, RunsOutOfMemory) {
  EXPECT_THROW(at::empty({emulated_gpu::memory_of_gpu()}, kGpu), c10::OutOfMemoryError);
}

TEST(EmulatedGpu, DifferentiatesInAThreadOfItsOwn) {
  at::Tensor const x = at::full({3}, 2.0F, kGpu).requires_grad_();
  (x * x).sum().backward();
  EXPECT_TRUE(at::equal(x.grad().cpu(), at::full({3}, 4.0F)));
}

}  // namespace
}  // namespace voxcycle
