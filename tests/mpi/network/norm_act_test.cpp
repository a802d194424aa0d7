// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/norm_act.hpp"

#include "voxcycle/grid/micro_batches.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace voxcycle {
namespace norm_act_test {

constexpr double kRounding = 1e-12;
constexpr auto kLayout = at::MemoryFormat::ChannelsLast3d;

/// Synchronised statistics of `samples` samples in units of two, spread over the ranks, against
/// torch's batch norm on the whole batch.
void compare_with_whole_batch(std::int64_t samples) {
  auto const comm = make_mpi_communicator();
  at::manual_seed(1);
  at::Tensor const x = at::randn({samples, 6, 4, 3, 5}, at::kDouble) + 0.5;
  at::Tensor const dy = at::randn_like(x);

  at::Tensor const whole = x.clone().requires_grad_();
  at::Tensor const gamma = at::full({6}, 1.5, at::kDouble).requires_grad_();
  at::Tensor const beta = at::full({6}, 0.25, at::kDouble).requires_grad_();
  at::Tensor const want =
      at::leaky_relu(at::batch_norm(whole, gamma, beta, {}, {}, true, 0.1, 1e-5, false), 0.1);
  want.backward(dy);

  NormAct layer({.channels = 6});
  layer.to(at::kDouble);
  {
    at::NoGradGuard const no_grad;
    layer.gamma.fill_(1.5);
    layer.beta.fill_(0.25);
  }
  auto const mine = micro_batches_of_rank(samples, 2, comm->size(), comm->rank());
  MicroBatches micro_batches;
  std::vector<at::Tensor> gradients;
  for (auto const& micro_batch : mine) {
    micro_batches.push_back(
        x.narrow(0, micro_batch.begin, micro_batch.size()).contiguous(kLayout).requires_grad_());
    gradients.push_back(dy.narrow(0, micro_batch.begin, micro_batch.size()).contiguous(kLayout));
  }
  if (mine.empty()) {
    micro_batches.push_back(x.narrow(0, 0, 0).contiguous(kLayout).requires_grad_());
    gradients.push_back(dy.narrow(0, 0, 0));
  }
  ForwardContext const context{.comm = *comm,
                               .dtype = at::kDouble,
                               .total_micro_batches = micro_batch_count(samples, 2),
                               .total_samples = samples};
  auto const y = layer.forward(context, micro_batches);
  torch::autograd::backward(y, gradients);
  for (std::size_t k = 0; k < mine.size(); ++k) {
    auto const part = [&](at::Tensor const& t) {
      return t.narrow(0, mine[k].begin, mine[k].size());
    };
    EXPECT_TRUE(at::allclose(y[k], part(want), kRounding, kRounding));
    EXPECT_TRUE(at::allclose(micro_batches[k].grad(), part(whole.grad()), kRounding, kRounding));
  }
  EXPECT_TRUE(at::allclose(layer.gamma.grad(), gamma.grad(), kRounding, kRounding));
  EXPECT_TRUE(at::allclose(layer.beta.grad(), beta.grad(), kRounding, kRounding));
}

TEST(SyncBatchNorm, EqualsTheWholeBatchWithUnequalShares) {
  compare_with_whole_batch(7);
}

TEST(SyncBatchNorm, EqualsTheWholeBatchWithARankThatHasNothing) {
  compare_with_whole_batch(2);
}

}  // namespace norm_act_test
}  // namespace voxcycle
