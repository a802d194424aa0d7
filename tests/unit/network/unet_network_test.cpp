// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/unet_network.hpp"

#include "voxcycle/core/error.hpp"

#include "networks.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace voxcycle {
namespace unet_network_test {

using testing::bare_network;
using testing::below;
using testing::default_problem;
using testing::expect_equals_plain;
using testing::Parameters;
using testing::perturb;
using testing::plain_block;

constexpr std::int64_t kChannels = 4;

NetworkOptions small() {
  return {.name = "unet", .depth = 2, .base_channels = kChannels};
}

std::shared_ptr<Network> small_network() {
  return bare_network(small());
}

/// The network of the class comment for depth 2, with torch's own operations.
at::Tensor plain_unet(Parameters const& p, at::Tensor const& log_nu) {
  auto const core = below(p, "core.");
  auto const block = [&](std::string const& name, at::Tensor const& x) {
    return plain_block(below(core, name + "."), x);
  };
  auto const down = [&](std::string const& name, at::Tensor const& x) {
    return at::conv3d(x, core.at(name + ".weight"), core.at(name + ".bias"), 2);
  };
  auto const up = [&](std::string const& name, at::Tensor const& x) {
    return at::conv_transpose3d(x, core.at(name + ".weight"), core.at(name + ".bias"), 2);
  };
  at::Tensor const x = at::conv3d(log_nu, p.at("stem.weight"), p.at("stem.bias"), 1, 1);
  at::Tensor const h0 = block("enc0", x);
  at::Tensor const h1 = block("enc1", down("down0", h0));
  at::Tensor const h2 = block("enc2", down("down1", h1));
  at::Tensor const g1 = block("dec1", at::cat({h1, up("up1", h2)}, 1));
  at::Tensor const g = block("dec0", at::cat({h0, up("up0", g1)}, 1));
  auto const problem = default_problem(Grid3::cube(log_nu.size(2)));
  return problem.lift + problem.mask * at::conv3d(g, p.at("head.weight"), p.at("head.bias"), 1, 1);
}

TEST(UnetNetwork, ValueAndGradientsEqualPlainTorch) {
  auto const network = small_network();
  perturb(*network);
  expect_equals_plain(*network, plain_unet);
}

TEST(UnetNetwork, GradientsAgreeWithFiniteDifferences) {
  auto const network = small_network();
  perturb(*network);
  network->to(at::kDouble);
  auto const comm = make_self_communicator();
  ForwardContext const context{.comm = *comm, .dtype = at::kDouble, .total_samples = 2};
  at::manual_seed(5);
  at::Tensor const log_nu = at::randn({2, 1, 16, 16, 16}, at::kDouble);
  at::Tensor const du = at::randn({2, 1, 17, 17, 17}, at::kDouble);
  auto const value = [&] {
    return (network->forward(context, Grid3::cube(16), {log_nu})[0] * du).sum();
  };
  value().backward();
  // A step of 1e-8 leaves a rounding error of 1e-13 |value| / 1e-8 and few enough activations that
  // cross the kink of the leaky ReLU, both near 1e-5 of |gradient| |direction|.
  constexpr double kStep = 1e-8;
  constexpr double kTolerance = 1e-4;
  for (auto const& [name, p] : network->named_parameters()) {
    at::NoGradGuard const no_grad;
    at::Tensor const direction = at::randn(p.sizes(), p.options()).contiguous();
    p.add_(direction, kStep);
    double const above = value().item<double>();
    p.sub_(direction, 2 * kStep);
    double const under = value().item<double>();
    p.add_(direction, kStep);
    double const expected = (above - under) / (2 * kStep);
    double const found = (p.grad() * direction).sum().item<double>();
    double const scale = p.grad().norm().item<double>() * direction.norm().item<double>();
    EXPECT_NEAR(found, expected, kTolerance * scale) << name;
  }
}

TEST(UnetNetwork, HoldsDirichletValuesExactlyInEveryPrecision) {
  auto const comm = make_self_communicator();
  at::NoGradGuard const no_grad;
  for (auto dtype : {at::kBFloat16, at::kFloat, at::kDouble}) {
    auto const network = small_network();
    perturb(*network);
    if (dtype == at::kDouble) network->to(at::kDouble);
    ForwardContext const context{.comm = *comm, .dtype = dtype, .total_samples = 2};
    auto const u = network->forward(context, Grid3::cube(16), {at::randn({2, 1, 16, 16, 16})})[0];
    EXPECT_TRUE(u.select(2, 0).eq(1.0).all().item<bool>());
    EXPECT_TRUE(u.select(2, 16).eq(0.0).all().item<bool>());
    EXPECT_FALSE(at::equal(u, default_problem(Grid3::cube(16)).lift.expand_as(u)));
    EXPECT_EQ(u.scalar_type(), dtype == at::kDouble ? at::kDouble : at::kFloat);
  }
}

TEST(UnetNetwork, StartsAsTheLift) {
  auto const network = small_network();
  auto const comm = make_self_communicator();
  at::NoGradGuard const no_grad;
  ForwardContext const context{.comm = *comm, .total_samples = 2};
  auto const u = network->forward(context, Grid3::cube(8), {at::randn({2, 1, 8, 8, 8})})[0];
  EXPECT_TRUE(at::equal(u, default_problem(Grid3::cube(8)).lift.expand_as(u)));
}

TEST(UnetNetwork, OneStepOnOneGridChangesTheOutputOnAnother) {
  auto const network = small_network();
  perturb(*network);
  auto const comm = make_self_communicator();
  at::manual_seed(7);
  at::Tensor const fine = at::randn({2, 1, 16, 16, 16});
  at::Tensor const coarse = at::avg_pool3d(fine, 2);
  ForwardContext const frozen{.comm = *comm, .training = false, .total_samples = 2};
  auto const on_fine = [&] {
    at::NoGradGuard const no_grad;
    return network->forward(frozen, Grid3::cube(16), {fine})[0];
  };
  at::Tensor const before = on_fine();
  // The frozen pass uses running statistics only, so that nothing but weights can carry over.
  network->forward(frozen, Grid3::cube(8), {coarse})[0].square().sum().backward();
  at::NoGradGuard const no_grad;
  for (auto& p : network->parameters()) {
    ASSERT_TRUE(p.grad().defined());
    p.sub_(p.grad(), 1e-4 / p.grad().norm().item<double>());
  }
  EXPECT_FALSE(at::equal(on_fine(), before));
}

TEST(UnetNetwork, WeightsBelongToTheVisitedLevel) {
  auto const network = small_network();
  for (std::int64_t n : {8, 32}) {
    auto const levels = network->levels(Grid3::cube(n));
    ASSERT_EQ(levels.size(), 1U);
    EXPECT_EQ(levels[0].level, n);
    EXPECT_EQ(levels[0].names.size(), network->parameters().size());
  }
}

TEST(UnetNetwork, RunsWithEveryNorm) {
  auto const comm = make_self_communicator();
  for (auto norm : {Norm::sync_batch, Norm::group, Norm::instance, Norm::none}) {
    auto options = small();
    options.norm = norm;
    auto const network = bare_network(options);
    perturb(*network);
    ForwardContext const context{
        .comm = *comm, .dtype = at::kBFloat16, .total_micro_batches = 2, .total_samples = 2};
    auto const u = network->forward(context, Grid3::cube(16),
                                    {at::randn({1, 1, 16, 16, 16}), at::randn({1, 1, 16, 16, 16})});
    torch::autograd::backward(u, {at::ones_like(u[0]), at::ones_like(u[1])});
    for (auto const& [name, value] : network->named_parameters()) {
      ASSERT_TRUE(value.grad().defined()) << name;
      EXPECT_TRUE(value.grad().isfinite().all().item<bool>()) << name;
    }
  }
}

TEST(UnetNetwork, AcceptsAnEmptyUnit) {
  auto const network = small_network();
  auto const comm = make_self_communicator();
  GradientReducer reducer(*comm, network->parameters(), GradientMode::exact);
  reducer.begin(1);
  ForwardContext const context{
      .comm = *comm, .reducer = &reducer, .dtype = at::kBFloat16, .total_samples = 1};
  auto const u = network->forward(context, Grid3::cube(16), {at::zeros({0, 1, 16, 16, 16})});
  EXPECT_EQ(u[0].sizes(), (std::vector<std::int64_t>{0, 1, 17, 17, 17}));
  torch::autograd::backward(u, {at::zeros_like(u[0])});
}

/// What require_fits says of a grid; "" if it fits.
std::string refusal(NetworkOptions const& options, Grid3 const& grid) {
  try {
    require_fits(options, grid);
  } catch (Error const& error) {
    return error.what();
  }
  return "";
}

TEST(UnetNetwork, RefusesGridsThatItCannotHalveNamingTheRemedy) {
  auto options = small();
  EXPECT_EQ(refusal(options, Grid3::cube(8)), "");
  EXPECT_EQ(refusal(options, {{16, 4, 12}, {1, 1, 1}}), "");
  EXPECT_NE(refusal(options, {{16, 6, 16}, {1, 1, 1}}), "");
  options.depth = 4;
  auto const text = refusal(options, Grid3::cube(8));
  for (auto const* part : {"8^3", "4 times", "network.depth to 3"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(UnetNetwork, RefusesAOneVoxelBottomThatTheNormErases) {
  auto options = small();
  options.depth = 3;
  EXPECT_EQ(refusal(options, Grid3::cube(8)), "");
  options.norm = Norm::group;  // 32 channels in 8 groups of 4
  EXPECT_EQ(refusal(options, Grid3::cube(8)), "");
  options.norm = Norm::instance;
  EXPECT_NE(refusal(options, Grid3::cube(8)).find("one voxel"), std::string::npos);
  EXPECT_EQ(refusal(options, Grid3::cube(16)), "");
}

TEST(UnetNetwork, RefusesOptionsOutOfRange) {
  EXPECT_EQ(refusal(small(), Grid3::cube(64)), "");
  auto options = small();
  for (std::int64_t depth : {0, 17}) {
    options.depth = depth;
    EXPECT_NE(refusal(options, Grid3::cube(8)).find("network.depth"), std::string::npos);
  }
  options = small();
  options.base_channels = 0;
  EXPECT_NE(refusal(options, Grid3::cube(8)).find("network.base_channels"), std::string::npos);
}

}  // namespace unet_network_test
}  // namespace voxcycle
