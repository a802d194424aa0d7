// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/multigrid_network.hpp"

#include "voxcycle/core/error.hpp"

#include <set>

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace voxcycle {
namespace {

constexpr double kRounding = 1e-11;  // float64 through some 20 layers
constexpr auto kLayout = at::MemoryFormat::ChannelsLast3d;

NodalFrame default_frame(Grid3 const& grid) {
  auto const n = grid.voxels[0];
  std::vector<std::int64_t> const shape{1, 1, grid.nodes(0), grid.nodes(1), grid.nodes(2)};
  at::Tensor const x = at::arange(n + 1, at::kFloat) / static_cast<double>(n);
  at::Tensor mask = at::ones(shape);
  mask.select(2, 0).zero_();
  mask.select(2, n).zero_();
  return {(1 - x).view({1, 1, -1, 1, 1}).expand(shape).contiguous(), mask};
}

std::shared_ptr<Network> small_network() {
  return make_network({.channels = {{4, 8}, {8, 4}, {16, 2}}}, default_frame);
}

/// Moves every parameter off its start, so that zero heads hide nothing.
void perturb(Network& network) {
  torch::NoGradGuard const no_grad;
  torch::manual_seed(3);
  for (auto& p : network.parameters()) p.add_(at::randn(p.sizes(), p.options()) * 0.3);
}

using Parameters = std::map<std::string, at::Tensor>;

/// The network of the class comment, written with torch's own operations on the whole batch.
std::pair<at::Tensor, at::Tensor> plain_level(Parameters const& p, at::Tensor const& log_nu,
                                              at::Tensor const& from_finer) {
  std::int64_t const n = log_nu.size(2);
  std::string const level = "level" + std::to_string(n) + ".";
  auto const at_key = [&](std::string const& key) { return p.at(level + key); };
  auto const block = [&](std::string const& name, at::Tensor x) {
    for (std::string const k : {"1", "2"}) {
      x = at::conv3d(x, at_key(name + ".conv" + k + ".weight"), {}, 1, 1);
      x = at::leaky_relu(
          at::batch_norm(x, at_key(name + ".norm" + k + ".gamma"),
                         at_key(name + ".norm" + k + ".beta"), {}, {}, true, 0.1, 1e-5, false),
          0.1);
    }
    return x;
  };
  at::Tensor h = at::conv3d(log_nu, at_key("stem.weight"), at_key("stem.bias"), 1, 1);
  if (from_finer.defined()) h = h + from_finer;
  h = block("enc", h);
  auto const frame = default_frame(Grid3::cube(n));
  at::Tensor g = h;
  at::Tensor u = frame.lift.to(at::kDouble).expand({log_nu.size(0), 1, -1, -1, -1});
  if (n > 4) {
    auto const down = at::conv3d(h, at_key("down.weight"), at_key("down.bias"), 2);
    auto const [uc, gc] = plain_level(p, at::avg_pool3d(log_nu, 2), down);
    auto const up = at::conv_transpose3d(gc, at_key("up.weight"), at_key("up.bias"), 2);
    g = block("dec", at::cat({h, up}, 1));
    auto const w = at::tensor({0.5, 1.0, 0.5}, at::kDouble);
    auto const kernel = at::einsum("i,j,k->ijk", {w, w, w}).view({1, 1, 3, 3, 3});
    u = at::conv_transpose3d(uc, kernel, {}, 2, 1);
  }
  auto const head = at::conv3d(g, at_key("head.weight"), at_key("head.bias"), 1, 1);
  return {u + frame.mask * head * (4.0 / static_cast<double>(n)), g};
}

TEST(MultigridNetwork, ValueAndGradientsEqualPlainTorch) {
  auto const network = small_network();
  perturb(*network);
  network->to(at::kDouble);
  torch::manual_seed(9);
  at::Tensor const log_nu = at::randn({5, 1, 16, 16, 16}, at::kDouble);
  at::Tensor const du = at::randn({5, 1, 17, 17, 17}, at::kDouble);

  auto const comm = make_self_communicator();
  std::vector<at::Tensor> parameters;
  Parameters plain;
  for (auto const& entry : network->named_parameters()) {
    parameters.push_back(entry.value());
    plain[entry.key()] = entry.value().detach().clone().requires_grad_();
  }
  GradientReducer reducer(*comm, parameters, GradientMode::exact);
  reducer.begin(3);
  Pass const pass{.comm = *comm,
                  .reducer = &reducer,
                  .dtype = at::kDouble,
                  .total_units = 3,
                  .total_samples = 5};
  Units const x{log_nu.narrow(0, 0, 2), log_nu.narrow(0, 2, 2), log_nu.narrow(0, 4, 1)};
  auto const u = network->forward(pass, Grid3::cube(16), x);
  torch::autograd::backward(u, {du.narrow(0, 0, 2), du.narrow(0, 2, 2), du.narrow(0, 4, 1)});
  reducer.finish();

  auto const want = plain_level(plain, log_nu, {}).first;
  want.backward(du);
  EXPECT_TRUE(at::allclose(at::cat(u), want, kRounding, kRounding));
  for (auto const& entry : network->named_parameters()) {
    auto const& expected = plain.at(entry.key()).grad();
    ASSERT_TRUE(entry.value().grad().defined()) << entry.key();
    double const scale = expected.abs().max().item<double>();
    EXPECT_LE((entry.value().grad() - expected).abs().max().item<double>(),
              kRounding * scale + kRounding)
        << entry.key();
  }
}

TEST(MultigridNetwork, NewLevelReproducesTheProlongedCoarseSolution) {
  auto const network = small_network();
  {
    // Train-like change of the inner levels only; level 16 keeps its zero head and down.
    torch::NoGradGuard const no_grad;
    for (auto& entry : network->named_parameters()) {
      if (entry.key().rfind("level16", 0) != 0) entry.value().add_(0.1);
    }
  }
  auto const comm = make_self_communicator();
  Pass const pass{.comm = *comm, .training = false, .total_samples = 2};
  at::Tensor const log_nu = at::randn({2, 1, 16, 16, 16});
  torch::NoGradGuard const no_grad;
  auto const fine = network->forward(pass, Grid3::cube(16), {log_nu});
  auto const coarse = network->forward(pass, Grid3::cube(8), {at::avg_pool3d(log_nu, 2)});
  EXPECT_TRUE(at::equal(fine[0], at::upsample_trilinear3d(coarse[0], {17, 17, 17}, true)));
}

TEST(MultigridNetwork, HoldsDirichletValuesExactly) {
  auto const network = small_network();
  perturb(*network);
  auto const comm = make_self_communicator();
  torch::NoGradGuard const no_grad;
  Pass const pass{.comm = *comm, .dtype = at::kBFloat16, .total_samples = 2};
  auto const u = network->forward(pass, Grid3::cube(16), {at::randn({2, 1, 16, 16, 16})})[0];
  EXPECT_TRUE(u.select(2, 0).eq(1.0).all().item<bool>());
  EXPECT_TRUE(u.select(2, 16).eq(0.0).all().item<bool>());
  EXPECT_EQ(u.scalar_type(), at::kFloat);
}

TEST(MultigridNetwork, StartIsAFunctionOfSeedAndNameAlone) {
  auto const three = small_network();
  auto const two = make_network({.channels = {{4, 8}, {8, 4}}}, default_frame);
  auto const other = make_network({.channels = {{4, 8}, {8, 4}}, .seed = 2}, default_frame);
  for (auto const& entry : two->named_parameters()) {
    EXPECT_TRUE(at::equal(entry.value(), *three->named_parameters().find(entry.key())));
    EXPECT_FALSE(entry.value().isnan().any().item<bool>()) << entry.key();
  }
  EXPECT_FALSE(at::equal(two->parameters()[0], other->parameters()[0]));
}

TEST(MultigridNetwork, AcceptsAnEmptyUnit) {
  auto const network = small_network();
  auto const comm = make_self_communicator();
  std::vector<at::Tensor> const parameters = network->parameters();
  GradientReducer reducer(*comm, parameters, GradientMode::exact);
  reducer.begin(1);
  Pass const pass{.comm = *comm, .reducer = &reducer, .dtype = at::kBFloat16, .total_samples = 1};
  auto const u = network->forward(pass, Grid3::cube(16), {at::zeros({0, 1, 16, 16, 16})});
  EXPECT_EQ(u[0].sizes(), (std::vector<std::int64_t>{0, 1, 17, 17, 17}));
  torch::autograd::backward(u, {at::zeros_like(u[0])});
}

TEST(MultigridNetwork, RefusesGridsAndLevelsThatDoNotFit) {
  auto const network = small_network();
  EXPECT_THROW(network->require_fits(Grid3::cube(32)), Error);
  EXPECT_THROW(network->require_fits({{16, 10, 16}, {1, 1, 1}}), Error);
  EXPECT_NO_THROW(network->require_fits({{16, 8, 12}, {1, 1, 1}}));
  EXPECT_THROW(make_network({.channels = {{4, 8}, {16, 4}}}, default_frame), Error);
  EXPECT_THROW(make_network({.name = "resnet"}, default_frame), Error);
}

}  // namespace
}  // namespace voxcycle
