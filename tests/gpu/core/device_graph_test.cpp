// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device_graph.hpp"

#include "voxcycle/core/error.hpp"

#include <stdexcept>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

at::TensorOptions const kGpu = at::device(at::Device(at::kCUDA, 0)).dtype(at::kDouble);

TEST(DeviceGraph, DoesTheWorkAtEachLaunchAndNotBefore) {
  at::Tensor const x = at::ones({3}, kGpu), count = at::zeros({1}, kGpu);
  at::Tensor y;
  DeviceGraph const graph(0, [&] {
    y = (x * 2.0).add_(1.0).cumsum(0);  // the memory between goes back while it is recorded
    count.add_(y.narrow(0, 2, 1));
  });
  EXPECT_EQ(count.item<double>(), 0.0);
  graph.launch();
  EXPECT_TRUE(at::equal(y.cpu(), at::tensor({3.0, 6.0, 9.0}, at::kDouble)));
  at::Tensor const elsewhere = at::full({3}, 100.0, kGpu);
  x.fill_(2.0);
  graph.launch();
  EXPECT_TRUE(at::equal(y.cpu(), at::tensor({5.0, 10.0, 15.0}, at::kDouble)));
  EXPECT_EQ(count.item<double>(), 24.0);
  EXPECT_EQ(elsewhere.sum().item<double>(), 300.0);
}

TEST(DeviceGraph, RefusesWhatWaits) {
  at::Tensor const x = at::ones({3}, kGpu);
  double sum = 0.0;
  EXPECT_THROW(DeviceGraph(0, [&] { sum = x.sum().item<double>(); }), Error);
  EXPECT_EQ(x.sum().item<double>(), 3.0);  // and all goes on
}

TEST(DeviceGraph, PassesOnWhatTheWorkThrows) {
  EXPECT_THAT([] { DeviceGraph(0, [] { throw std::runtime_error("a reason"); }); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("a reason")));
}

}  // namespace
}  // namespace voxcycle
