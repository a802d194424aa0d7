// SPDX-License-Identifier: BSD-3-Clause
// Here and not among the tests of real GPUs, which bundles hold: gpu.network.norm_loops and
// gpu.train.trainer say the same there.
#include "voxcycle/network/norm_act.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace voxcycle {
namespace {

constexpr double kRounding = 1e-12;  // float64, sums of some hundred terms
constexpr std::int64_t kChannels = 8;

struct Result {
  std::vector<at::Tensor> tensors;  ///< y, dx, gradients of gamma and beta, running statistics
};

/// Two batches of five samples in units of two, forward and backward, then one in evaluation.
Result run(Norm norm, at::Device device) {
  at::manual_seed(5);
  auto const comm = make_self_communicator();
  NormAct layer({.norm = norm, .channels = kChannels, .groups = 4});
  {
    at::NoGradGuard const no_grad;
    layer.to(at::kDouble);
    layer.gamma.copy_(at::rand({kChannels}, at::kDouble) + 0.5);
    layer.beta.copy_(at::randn({kChannels}, at::kDouble));
    layer.to(device);
  }
  Result result;
  for (bool training : {true, true, false}) {
    MicroBatches x;
    std::vector<at::Tensor> dy;
    for (std::int64_t size : {2, 2, 1}) {
      auto const field = [&] {
        return (at::randn({size, kChannels, 4, 5, 6}, at::kDouble) * 2 + 0.7)
            .to(device)
            .contiguous(at::MemoryFormat::ChannelsLast3d);
      };
      x.push_back(field().requires_grad_());
      dy.push_back(field());
    }
    ForwardContext const context{.comm = *comm,
                                 .device = device,
                                 .training = training,
                                 .dtype = at::kDouble,
                                 .total_micro_batches = 3,
                                 .total_samples = 5};
    auto const y = layer.forward(context, x);
    torch::autograd::backward(y, dy);
    for (auto const& micro_batch : y) result.tensors.push_back(micro_batch.detach());
    for (auto const& micro_batch : x) result.tensors.push_back(micro_batch.grad());
  }
  for (auto const& weights :
       {layer.gamma.grad(), layer.beta.grad(), layer.running_mean, layer.running_var}) {
    result.tensors.push_back(weights);
  }
  return result;
}

TEST(NormActOnGpu, FollowsTheCpu) {
  for (auto norm : {Norm::sync_batch, Norm::group, Norm::instance, Norm::none}) {
    auto const expected = run(norm, at::kCPU).tensors;
    auto const found = run(norm, at::Device(at::kCUDA, 0)).tensors;
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t k = 0; k < found.size(); ++k) {
      EXPECT_TRUE(found[k].is_cuda());
      double const scale = expected[k].abs().max().item<double>();
      EXPECT_LE((found[k].cpu() - expected[k]).abs().max().item<double>(), kRounding * scale)
          << to_string(norm) << ", tensor " << k;
    }
  }
}

}  // namespace
}  // namespace voxcycle
