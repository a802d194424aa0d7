// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/recompute.hpp"

#include "voxcycle/network/conv.hpp"
#include "voxcycle/network/norm_act.hpp"

#include "networks.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace voxcycle {
namespace recompute_test {

using testing::bare_network;
using testing::perturb;

enum class Gradients { reduced, by_autograd };

struct Result {
  MicroBatches u;
  std::map<std::string, at::Tensor> gradients;
  std::map<std::string, at::Tensor> buffers;
};

/// Three samples on 8^3 in units of two, forward and backward.
Result run(NetworkOptions const& options, at::ScalarType dtype, Gradients gradients,
           bool recompute) {
  auto const network = bare_network(options);
  perturb(*network);
  if (dtype == at::kDouble) network->to(at::kDouble);
  auto const comm = make_self_communicator();
  GradientReducer reducer(*comm, network->parameters(), GradientMode::exact);
  reducer.begin(2);
  ForwardContext const context{.comm = *comm,
                               .reducer = gradients == Gradients::reduced ? &reducer : nullptr,
                               .dtype = dtype,
                               .total_micro_batches = 2,
                               .total_samples = 3,
                               .recompute = recompute};
  at::manual_seed(5);
  auto const type = dtype == at::kDouble ? at::kDouble : at::kFloat;
  MicroBatches const x{at::randn({2, 1, 8, 8, 8}, type), at::randn({1, 1, 8, 8, 8}, type)};
  Result result{network->forward(context, Grid3::cube(8), x), {}, {}};
  torch::autograd::backward(result.u,
                            {at::randn({2, 1, 9, 9, 9}, type), at::randn({1, 1, 9, 9, 9}, type)});
  if (gradients == Gradients::reduced) reducer.finish();
  for (auto const& [name, value] : network->named_parameters()) {
    result.gradients[name] = value.grad();
  }
  for (auto const& [name, value] : network->named_buffers()) result.buffers[name] = value;
  return result;
}

void expect_same_bits(std::map<std::string, at::Tensor> const& a,
                      std::map<std::string, at::Tensor> const& b) {
  ASSERT_EQ(a.size(), b.size());
  for (auto const& [name, value] : a) {
    ASSERT_EQ(value.defined(), b.at(name).defined()) << name;
    EXPECT_TRUE(!value.defined() || at::equal(value, b.at(name))) << name;
  }
}

class Recompute : public ::testing::TestWithParam<std::string> {};

TEST_P(Recompute, LeavesEveryBitAlone) {
  for (auto norm : {Norm::sync_batch, Norm::group, Norm::none}) {
    for (auto dtype : {at::kBFloat16, at::kDouble}) {
      for (auto gradients : {Gradients::reduced, Gradients::by_autograd}) {
        NetworkOptions const options{.name = GetParam(),
                                     .channels = {{2, 16}, {4, 16}, {8, 8}},
                                     .norm = norm,
                                     .correction_scale = 4.0,
                                     .depth = 2,
                                     .base_channels = 8};
        SCOPED_TRACE(to_string(norm) + " " + at::toString(dtype));
        auto const plain = run(options, dtype, gradients, false);
        auto const again = run(options, dtype, gradients, true);
        for (std::size_t k = 0; k < 2; ++k) EXPECT_TRUE(at::equal(plain.u[k], again.u[k]));
        expect_same_bits(plain.gradients, again.gradients);
        expect_same_bits(plain.buffers, again.buffers);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, Recompute, ::testing::Values("multigrid", "unet", "published"),
                         [](auto const& chosen) { return chosen.param; });

TEST(Recomputed, KeepsNothingButInputs) {
  auto const comm = make_self_communicator();
  Conv layer({.in = 4, .out = 4});
  initialise_uniform(layer, 1);
  Fields const x{MicroBatches(1, at::randn({1, 4, 4, 4, 4}))};
  for (bool recompute : {false, true}) {
    ForwardContext const context{.comm = *comm, .recompute = recompute};
    std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> inside;  // one a run
    auto const y =
        recomputed(context, layer, x, [&](ForwardContext const& p, Fields const& in) -> Fields {
          MicroBatches const middle = layer.forward(p, in[0]);
          inside.push_back(middle[0].storage().getWeakStorageImpl());
          return {layer.forward(p, middle)};
        });
    EXPECT_EQ(inside[0].expired(), recompute);
    y[0][0].sum().backward();
    EXPECT_EQ(inside.size(), recompute ? 2 : 1);
  }
}

TEST(Recomputed, RunsOnceWithoutGradients) {
  auto const comm = make_self_communicator();
  Conv layer({.in = 1, .out = 1});
  initialise_uniform(layer, 1);
  Fields const x{MicroBatches(1, at::randn({1, 1, 4, 4, 4}))};
  at::NoGradGuard const no_grad;
  int runs = 0;
  auto const y = recomputed({.comm = *comm, .recompute = true}, layer, x,
                            [&](ForwardContext const& p, Fields const& in) -> Fields {
                              ++runs;
                              return {layer.forward(p, in[0])};
                            });
  EXPECT_EQ(runs, 1);
  EXPECT_FALSE(y[0][0].requires_grad());
}

}  // namespace recompute_test
}  // namespace voxcycle
