// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/gradient_reducer.hpp"

#include "voxcycle/comm/communicator.hpp"

#include <limits>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

/// Exact sums of three micro-batches' gradients of two parameters on a device.
std::vector<at::Tensor> reduced(at::Device device, at::ScalarType dtype) {
  at::manual_seed(1);
  auto const comm = make_self_communicator();
  std::vector<at::Tensor> parameters{at::zeros({7, 5, 3, 3, 3}, dtype).to(device),
                                     at::zeros({20000}, dtype).to(device),
                                     at::zeros({4}, dtype).to(device)};
  GradientReducer reducer(*comm, parameters, GradientMode::exact);
  reducer.begin(2);  // fewer than come
  for (int micro_batch = 0; micro_batch < 3; ++micro_batch) {
    for (auto const& parameter : parameters) {
      if (micro_batch == 2 && parameter.numel() == 20000) continue;
      at::Tensor const gradient = parameter.numel() == 4
                                      ? at::zeros(parameter.sizes(), dtype)
                                      : at::randn(parameter.sizes(), at::kDouble).to(dtype);
      reducer.add_micro_batch(parameter, gradient.to(device));
    }
  }
  for (auto const& parameter : parameters) reducer.close(parameter);
  reducer.finish();
  std::vector<at::Tensor> gradients;
  for (auto const& parameter : parameters) gradients.push_back(parameter.grad());
  return gradients;
}

TEST(GradientReducerOnGpu, HasTheBitsOfTheCpu) {
  for (auto dtype : {at::kFloat, at::kDouble}) {
    auto const here = reduced(at::kCPU, dtype), there = reduced({at::kCUDA, 0}, dtype);
    for (std::size_t i = 0; i < here.size(); ++i) {
      EXPECT_TRUE(there[i].is_cuda());
      EXPECT_TRUE(at::equal(there[i].cpu(), here[i]));
    }
  }
}

TEST(GradientReducerOnGpu, RefusesWhatIsNotFinite) {
  auto const comm = make_self_communicator();
  std::vector<at::Tensor> const parameters{at::zeros({100}).cuda()};
  GradientReducer reducer(*comm, parameters, GradientMode::exact);
  at::Tensor const gradient = at::zeros({100});
  gradient[57] = std::numeric_limits<float>::infinity();
  reducer.add_micro_batch(parameters[0], gradient.cuda());
  reducer.close(parameters[0]);
  EXPECT_THROW(reducer.finish(), NotFiniteGradient);
}

}  // namespace
}  // namespace voxcycle
