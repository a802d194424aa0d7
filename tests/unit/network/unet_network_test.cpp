// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/unet_network.hpp"

#include "voxcycle/core/error.hpp"

#include <set>

#include "networks.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace voxcycle {
namespace {

using testing::bare_network;
using testing::below;
using testing::default_problem;
using testing::expect_equals_plain;
using testing::Parameters;
using testing::perturb;
using testing::plain_block;
using testing::plain_conv_norm;

constexpr std::int64_t kChannels = 4;

NetworkOptions small(Adaptation adaptation, std::vector<std::int64_t> levels = {8, 16, 32}) {
  return {.name = "unet",
          .depth = 2,
          .base_channels = kChannels,
          .adaptation = adaptation,
          .cycle_levels = std::move(levels)};
}

std::shared_ptr<Network> small_network(Adaptation adaptation = Adaptation::no) {
  return bare_network(small(adaptation));
}

/// The network of the class comment for depth 2, with torch's own operations; `extras` are the
/// levels whose layers take part, coarsest first.
at::Tensor plain_unet(Parameters const& p, at::Tensor const& log_nu,
                      std::vector<std::int64_t> const& extras) {
  auto const residual = [&](std::int64_t level, std::string const& side, at::Tensor const& x) {
    auto const q = below(p, "extra" + std::to_string(level) + "." + side + ".");
    return x + at::conv3d(plain_conv_norm(q, "conv1", "norm", x), q.at("conv2.weight"),
                          q.at("conv2.bias"), 1, 1);
  };
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
  at::Tensor x = at::conv3d(log_nu, p.at("stem.weight"), p.at("stem.bias"), 1, 1);
  for (auto level = extras.rbegin(); level != extras.rend(); ++level) {
    x = residual(*level, "before", x);
  }
  at::Tensor const h0 = block("enc0", x);
  at::Tensor const h1 = block("enc1", down("down0", h0));
  at::Tensor const h2 = block("enc2", down("down1", h1));
  at::Tensor const g1 = block("dec1", at::cat({h1, up("up1", h2)}, 1));
  at::Tensor g = block("dec0", at::cat({h0, up("up0", g1)}, 1));
  for (auto level : extras) g = residual(level, "after", g);
  auto const problem = default_problem(Grid3::cube(log_nu.size(2)));
  return problem.lift + problem.mask * at::conv3d(g, p.at("head.weight"), p.at("head.bias"), 1, 1);
}

TEST(UnetNetwork, ValueAndGradientsEqualPlainTorch) {
  auto const network = small_network();
  perturb(*network);
  expect_equals_plain(*network, [](Parameters const& p, at::Tensor const& log_nu) {
    return plain_unet(p, log_nu, {});
  });
}

TEST(UnetNetwork, AdaptationAppliesTheLayersUpToTheGridOutermostTheFinest) {
  auto const network = bare_network(small(Adaptation::widen, {4, 8, 16, 32}));
  perturb(*network);
  // On 16^3: the layers of 8 and 16, not those of 32.
  expect_equals_plain(*network, [](Parameters const& p, at::Tensor const& log_nu) {
    return plain_unet(p, log_nu, {8, 16});
  });
}

TEST(UnetNetwork, GradientsAgreeWithFiniteDifferences) {
  auto const network = small_network(Adaptation::widen);
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
    if (name.rfind("extra32", 0) == 0) {
      EXPECT_FALSE(p.grad().defined());
      continue;
    }
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
    auto const network = small_network(Adaptation::widen);
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

TEST(UnetNetwork, AdaptationAddsTheStatedParametersAndChangesNothingOnEntry) {
  auto const plain = small_network();
  auto const adapted = small_network(Adaptation::widen);
  auto const count = [](Network const& network) {
    std::int64_t sum = 0;
    for (auto const& p : network.parameters()) sum += p.numel();
    return sum;
  };
  constexpr auto c = kChannels;
  EXPECT_EQ(count(*adapted) - count(*plain), 2 * (108 * c * c + 6 * c));
  {
    // Trained as far as the coarsest level: the layers of 16 and 32 are as they were made.
    at::NoGradGuard const no_grad;
    for (auto& [name, value] : plain->named_parameters()) {
      value.add_(at::randn(value.sizes()), 0.3);
      testing::named_parameters(*adapted).at(name).copy_(value);
    }
  }
  auto const comm = make_self_communicator();
  at::NoGradGuard const no_grad;
  for (bool training : {true, false}) {
    for (std::int64_t n : {8, 16, 32}) {
      ForwardContext const context{.comm = *comm, .training = training, .total_samples = 2};
      at::Tensor const log_nu = at::randn({2, 1, n, n, n});
      EXPECT_TRUE(at::equal(adapted->forward(context, Grid3::cube(n), {log_nu})[0],
                            plain->forward(context, Grid3::cube(n), {log_nu})[0]))
          << n << (training ? " training" : " evaluation");
    }
  }
}

TEST(UnetNetwork, SharedWeightsBelongToTheVisitedLevelAndExtraLayersToTheirOwn) {
  auto const network = small_network(Adaptation::widen);
  auto const at_8 = network->levels(Grid3::cube(8));
  ASSERT_EQ(at_8.size(), 1U);
  EXPECT_EQ(at_8[0].level, 8);
  auto const at_32 = network->levels(Grid3::cube(32));
  ASSERT_EQ(at_32.size(), 2U);
  EXPECT_EQ(at_32[0].level, 16);
  EXPECT_EQ(at_32[1].level, 32);
  auto const names = testing::named_parameters(*network);
  std::set<std::string> seen;
  for (auto const& entry : at_32) {
    for (std::size_t k = 0; k < entry.names.size(); ++k) {
      EXPECT_TRUE(entry.parameters[k].is_same(names.at(entry.names[k])));
      EXPECT_EQ(entry.level == 16, entry.names[k].rfind("extra16.", 0) == 0) << entry.names[k];
      EXPECT_TRUE(seen.insert(entry.names[k]).second);
    }
  }
  EXPECT_EQ(seen.size(), names.size());
  // The shared part is one group at either grid: all that 8^3 trains is in the last entry of 32^3.
  std::set<std::string> const finest(at_32[1].names.begin(), at_32[1].names.end());
  for (auto const& name : at_8[0].names) EXPECT_EQ(finest.count(name), 1U) << name;
}

TEST(UnetNetwork, RunsWithEveryNorm) {
  auto const comm = make_self_communicator();
  for (auto norm : {Norm::sync_batch, Norm::group, Norm::instance, Norm::none}) {
    auto options = small(Adaptation::widen);
    options.norm = norm;
    auto const network = bare_network(options);
    perturb(*network);
    ForwardContext const context{
        .comm = *comm, .dtype = at::kBFloat16, .total_micro_batches = 2, .total_samples = 2};
    auto const u = network->forward(context, Grid3::cube(16),
                                    {at::randn({1, 1, 16, 16, 16}), at::randn({1, 1, 16, 16, 16})});
    torch::autograd::backward(u, {at::ones_like(u[0]), at::ones_like(u[1])});
    for (auto const& [name, value] : network->named_parameters()) {
      if (name.rfind("extra32", 0) == 0) continue;
      ASSERT_TRUE(value.grad().defined()) << name;
      EXPECT_TRUE(value.grad().isfinite().all().item<bool>()) << name;
    }
  }
}

TEST(UnetNetwork, AcceptsAnEmptyUnit) {
  auto const network = small_network(Adaptation::widen);
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
  auto options = small(Adaptation::no);
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
  auto options = small(Adaptation::no);
  options.depth = 3;
  EXPECT_EQ(refusal(options, Grid3::cube(8)), "");
  options.norm = Norm::group;  // 32 channels in 8 groups of 4
  EXPECT_EQ(refusal(options, Grid3::cube(8)), "");
  options.norm = Norm::instance;
  EXPECT_NE(refusal(options, Grid3::cube(8)).find("one voxel"), std::string::npos);
  EXPECT_EQ(refusal(options, Grid3::cube(16)), "");
}

TEST(UnetNetwork, RefusesOptionsOutOfRangeAndLevelsWithoutLayers) {
  EXPECT_NE(refusal(small(Adaptation::widen), Grid3::cube(64)).find("cycle.levels"),
            std::string::npos);
  EXPECT_EQ(refusal(small(Adaptation::no), Grid3::cube(64)), "");
  auto options = small(Adaptation::no);
  for (std::int64_t depth : {0, 17}) {
    options.depth = depth;
    EXPECT_NE(refusal(options, Grid3::cube(8)).find("network.depth"), std::string::npos);
  }
  options = small(Adaptation::no);
  options.base_channels = 0;
  EXPECT_NE(refusal(options, Grid3::cube(8)).find("network.base_channels"), std::string::npos);
}

}  // namespace
}  // namespace voxcycle
