// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/norm_act.hpp"

#include "voxcycle/core/error.hpp"

#include <cmath>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace voxcycle {
namespace norm_act_test {

constexpr double kRounding = 1e-12;    // float64, sums of a few thousand terms
constexpr double kFloat = 1e-5;        // the same in float32
constexpr double kBfloat = 2.0 / 256;  // bfloat16 keeps 8 bits
constexpr auto kChannelsLast = at::MemoryFormat::ChannelsLast3d;
constexpr auto kDefaultLayout = at::MemoryFormat::Contiguous;

struct Case {
  at::Tensor x, dy, gamma, beta;
};

Case make_case(std::int64_t samples, std::int64_t channels) {
  at::manual_seed(5);
  auto const options = at::TensorOptions(at::kDouble);
  return {at::randn({samples, channels, 5, 6, 7}, options) * 2 + 0.7,
          at::randn({samples, channels, 5, 6, 7}, options), at::rand({channels}, options) + 0.5,
          at::randn({channels}, options)};
}

/// Output and gradients (x, gamma, beta) of torch's own layers on the whole batch.
std::vector<at::Tensor> expected(Case const& c, Norm norm, std::int64_t groups) {
  auto const x = c.x.clone().requires_grad_();
  auto const gamma = c.gamma.clone().requires_grad_();
  auto const beta = c.beta.clone().requires_grad_();
  at::Tensor y;
  if (norm == Norm::sync_batch) {
    y = at::batch_norm(x, gamma, beta, {}, {}, true, 0.1, 1e-5, false);
  } else if (norm == Norm::none) {
    y = x * gamma.view({1, -1, 1, 1, 1}) + beta.view({1, -1, 1, 1, 1});
  } else {
    y = at::group_norm(x, groups, gamma, beta, 1e-5);
  }
  y = at::leaky_relu(y, 0.1);
  y.backward(c.dy);
  return {y, x.grad(), gamma.grad(), beta.grad()};
}

/// The same of NormAct, the batch cut into micro-batches of two samples.
std::vector<at::Tensor> actual(Case const& c, at::ScalarType dtype, NormAct& layer,
                               at::MemoryFormat layout = kChannelsLast) {
  auto const comm = make_self_communicator();
  {
    at::NoGradGuard const no_grad;
    layer.to(dtype == at::kDouble ? at::kDouble : at::kFloat);
    layer.gamma.copy_(c.gamma);
    layer.beta.copy_(c.beta);
  }
  std::int64_t const samples = c.x.size(0);
  MicroBatches x;
  std::vector<at::Tensor> dy;
  for (std::int64_t begin = 0; begin < samples; begin += 2) {
    std::int64_t const size = std::min<std::int64_t>(2, samples - begin);
    x.push_back(c.x.narrow(0, begin, size).to(dtype).contiguous(layout).requires_grad_());
    dy.push_back(c.dy.narrow(0, begin, size).to(dtype).contiguous(layout));
  }
  ForwardContext const context{.comm = *comm,
                               .dtype = dtype,
                               .layout = layout,
                               .total_micro_batches = static_cast<std::int64_t>(x.size()),
                               .total_samples = samples};
  auto const y = layer.forward(context, x);
  for (auto const& micro_batch : y) EXPECT_TRUE(micro_batch.is_contiguous(layout));
  torch::autograd::backward(y, dy);
  std::vector<at::Tensor> dx;
  for (auto const& micro_batch : x) dx.push_back(micro_batch.grad());
  return {at::cat(y), at::cat(dx), layer.gamma.grad(), layer.beta.grad()};
}

void compare(Norm norm, std::int64_t channels, std::int64_t groups, at::ScalarType dtype,
             double tolerance, at::MemoryFormat layout = kChannelsLast) {
  auto const c = make_case(5, channels);
  NormOptions const options{.norm = norm, .channels = channels, .groups = groups};
  NormAct layer(options);
  auto const got = actual(c, dtype, layer, layout);
  auto const want = expected(c, norm, norm == Norm::instance ? channels : groups);
  for (std::size_t k = 0; k < want.size(); ++k) {
    double const scale = want[k].abs().max().item<double>();
    double const error = (got[k].to(at::kDouble) - want[k]).abs().max().item<double>();
    EXPECT_LE(error, tolerance * scale) << to_string(norm) << ", quantity " << k;
  }
}

TEST(NormAct, EqualsTorchInDoublePrecision) {
  compare(Norm::sync_batch, 16, 1, at::kDouble, kRounding);
  compare(Norm::group, 16, 4, at::kDouble, kRounding);
  compare(Norm::instance, 6, 1, at::kDouble, kRounding);
  compare(Norm::none, 16, 1, at::kDouble, kRounding);
}

TEST(NormAct, EqualsTorchInItsDefaultLayout) {
  for (auto norm : {Norm::sync_batch, Norm::group, Norm::instance, Norm::none}) {
    compare(norm, 6, 2, at::kDouble, kRounding, kDefaultLayout);
  }
  compare(Norm::sync_batch, 8, 1, at::kFloat, kFloat, kDefaultLayout);
}

// More voxels than a thread takes at a time, so that partial sums are put together.
TEST(NormAct, EqualsTorchOnLargeSamplesInBothLayouts) {
  at::manual_seed(6);
  auto const options = at::TensorOptions(at::kDouble);
  std::vector<std::int64_t> const shape{3, 2, 21, 22, 23};
  Case const c{at::randn(shape, options) + 0.3, at::randn(shape, options),
               at::rand({2}, options) + 0.5, at::randn({2}, options)};
  for (auto layout : {kChannelsLast, kDefaultLayout}) {
    NormAct layer(NormOptions{.norm = Norm::instance, .channels = 2});
    auto const got = actual(c, at::kDouble, layer, layout);
    auto const want = expected(c, Norm::instance, 2);
    for (std::size_t k = 0; k < want.size(); ++k) {
      EXPECT_TRUE(at::allclose(got[k], want[k], kRounding, kRounding * 1e3)) << k;
    }
  }
}

TEST(NormAct, HandlesChannelCountsThatDoNotFillRegisters) {
  for (std::int64_t channels : {1, 3, 24, 65}) {
    compare(Norm::sync_batch, channels, 1, at::kDouble, kRounding);
  }
}

TEST(NormAct, EqualsTorchInFloat) {
  compare(Norm::sync_batch, 8, 1, at::kFloat, kFloat);
}

TEST(NormAct, BfloatForwardIsRoundedOnce) {
  auto const c = make_case(4, 8);
  NormOptions const options{.channels = 8};
  NormAct layer(options);
  auto const got = actual(c, at::kBFloat16, layer);
  auto const want = expected(c, Norm::sync_batch, 1);
  double const scale = want[0].abs().max().item<double>();
  EXPECT_LE((got[0].to(at::kDouble) - want[0]).abs().max().item<double>(), kBfloat * scale);
}

TEST(NormAct, RunningStatisticsFollowTorch) {
  auto const c = make_case(5, 4);
  NormOptions const options{.channels = 4};
  NormAct layer(options);
  at::Tensor const mean = at::zeros({4}, at::kDouble);
  at::Tensor const var = at::ones({4}, at::kDouble);
  // The first batch of all, then five samples where 0.1 is the weight of eight.
  for (double const weight : {1.0, 1.0 - std::pow(0.9, 5.0 / 8.0)}) {
    actual(c, at::kDouble, layer);
    at::batch_norm(c.x, c.gamma, c.beta, mean, var, true, weight, 1e-5, false);
    EXPECT_TRUE(at::allclose(layer.running_mean, mean, kRounding, kRounding));
    EXPECT_TRUE(at::allclose(layer.running_var, var, kRounding, kRounding));
    mean.mul_(0.5);  // elsewhere than this batch's
    layer.running_mean.copy_(mean);
  }

  auto const comm = make_self_communicator();
  ForwardContext const context{
      .comm = *comm, .training = false, .dtype = at::kDouble, .total_samples = 5};
  auto const y = layer.forward(context, {c.x.contiguous(kChannelsLast)});
  auto const want =
      at::leaky_relu(at::batch_norm(c.x, c.gamma, c.beta, mean, var, false, 0.1, 1e-5, false), 0.1);
  EXPECT_TRUE(at::allclose(y[0], want, kRounding, kRounding));
}

TEST(NormAct, OverwritesWhatNobodyElseHoldsWhereNoGradientIsRecorded) {
  auto const c = make_case(5, 4);
  auto const comm = make_self_communicator();
  for (auto norm : {Norm::sync_batch, Norm::group}) {
    NormAct layer({.norm = norm, .channels = 4, .groups = 2});
    ForwardContext const context{
        .comm = *comm, .training = false, .dtype = at::kDouble, .total_samples = 5};
    at::Tensor const held = c.x.contiguous(kChannelsLast), before = held.clone();
    at::Tensor const want = layer.forward(context, {held})[0];
    EXPECT_TRUE(want.requires_grad());

    at::NoGradGuard const no_grad;
    EXPECT_TRUE(at::equal(layer.forward(context, {held})[0], want));
    MicroBatches view;  // an initialiser list would hold it, too
    view.push_back(held.view(held.sizes()));
    EXPECT_TRUE(at::equal(layer.forward(context, std::move(view))[0], want));
    EXPECT_TRUE(at::equal(held, before));
    MicroBatches alone{held.clone()};
    auto const* place = alone[0].const_data_ptr();
    MicroBatches const y = layer.forward(context, std::move(alone));
    EXPECT_TRUE(at::equal(y[0], want));
    EXPECT_EQ(y[0].const_data_ptr(), place);
  }
}

TEST(NormAct, BitsDoNotDependOnThreads) {
  auto const c = make_case(5, 16);
  NormOptions const options{.channels = 16};
  std::vector<std::vector<at::Tensor>> runs;
  for (int threads : {1, 2}) {
    at::set_num_threads(threads);
    NormAct layer(options);
    runs.push_back(actual(c, at::kBFloat16, layer));
  }
  for (std::size_t k = 0; k < runs[0].size(); ++k) EXPECT_TRUE(at::equal(runs[0][k], runs[1][k]));
}

TEST(NormAct, RefusesUnknownNamesAndGroups) {
  EXPECT_THROW(parse_norm("batch"), Error);
  EXPECT_THROW(NormAct({.norm = Norm::group, .channels = 9, .groups = 2}), Error);
}

}  // namespace norm_act_test
}  // namespace voxcycle
