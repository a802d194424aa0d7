// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/multigrid_network.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/grid/unit_box.hpp"

#include <set>

#include "networks.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace voxcycle {
namespace multigrid_network_test {

using testing::bare_network;
using testing::below;
using testing::default_problem;
using testing::expect_equals_plain;
using ::testing::HasSubstr;
using testing::Parameters;
using testing::perturb;
using testing::plain_block;
using ::testing::ThrowsMessage;

NetworkOptions small_options() {
  return {.channels = {{4, 8}, {8, 4}, {16, 2}}, .correction_scale = 4.0};
}

std::shared_ptr<Network> small_network() {
  return bare_network(small_options());
}

NetworkOptions options_with_residual() {
  return {.channels = {{4, 8}, {8, 4}, {16, 4}},
          .correction_scale = 4.0,
          .coarse = CoarseLevels::averaged,
          .smoothing = 0,
          .residual_input = true};
}

std::vector<at::Tensor> corners(at::Tensor const& nodes) {
  std::vector<at::Tensor> all;
  for (auto const& x :
       {nodes.narrow(2, 0, nodes.size(2) - 1), nodes.narrow(2, 1, nodes.size(2) - 1)})
    for (auto const& y : {x.narrow(3, 0, x.size(3) - 1), x.narrow(3, 1, x.size(3) - 1)})
      for (auto const& z : {y.narrow(4, 0, y.size(4) - 1), y.narrow(4, 1, y.size(4) - 1)})
        all.push_back(z);
  return all;
}

/// Sums at the nodes of what voxels [n, 8, ...] have at their corners.
at::Tensor at_nodes(at::Tensor const& voxels) {
  at::Tensor sum;
  for (std::int64_t c = 0; c < 8; ++c) {
    auto const side = [&](int shift) { return c >> shift & 1; };
    at::Tensor const one = at::constant_pad_nd(
        voxels.narrow(1, c, 1), {side(0), 1 - side(0), side(1), 1 - side(1), side(2), 1 - side(2)});
    sum = sum.defined() ? sum + one : one;
  }
  return sum;
}

/// n D^-1 (b - K u) of the default problem at the corners of voxels, times the factor of its one
/// Chebyshev step over 1.5, the end of the spectrum; by element matrices in units of h.
at::Tensor plain_residual(at::Tensor const& u, at::Tensor const& log_nu, at::Tensor const& mask) {
  at::Tensor const k = at::tensor({1.0, -1.0, -1.0, 1.0}, at::kDouble).view({2, 2});
  at::Tensor const m = at::tensor({2.0, 1.0, 1.0, 2.0}, at::kDouble).view({2, 2}) / 6.0;
  at::Tensor const element =
      at::kron(at::kron(k, m), m) + at::kron(at::kron(m, k), m) + at::kron(at::kron(m, m), k);
  at::Tensor const nu = log_nu.exp();
  at::Tensor const stress = at::einsum("ij,njxyz->nixyz", {element, at::cat(corners(u), 1)}) * nu;
  at::Tensor const diagonal = at_nodes((nu / 3.0).expand({-1, 8, -1, -1, -1}));
  double const factor = smoothing_steps(1).at(0).take / 1.5 * static_cast<double>(nu.size(2));
  return at::cat(corners(-factor * mask * at_nodes(stress) / diagonal), 1);
}

/// The network of the class comment, written with torch's own operations on the whole batch.
std::pair<at::Tensor, at::Tensor> plain_level(Parameters const& p, at::Tensor const& log_nu,
                                              at::Tensor const& from_finer) {
  std::int64_t const n = log_nu.size(2);
  auto const level = below(p, "level" + std::to_string(n) + ".");
  auto const at_key = [&](std::string const& key) { return level.at(key); };
  at::Tensor h = at::conv3d(log_nu, at_key("stem.weight"), at_key("stem.bias"), 1, 1);
  if (from_finer.defined()) h = h + from_finer;
  h = plain_block(below(level, "enc."), h);
  auto const problem = default_problem(Grid3::cube(n));
  at::Tensor g = h;
  at::Tensor u = problem.lift.to(at::kDouble).expand({log_nu.size(0), 1, -1, -1, -1});
  if (n > 4) {
    auto const down = at::conv3d(h, at_key("down.weight"), at_key("down.bias"), 2);
    auto const [uc, gc] = plain_level(p, at::avg_pool3d(log_nu, 2), down);
    at::Tensor up = at::conv_transpose3d(gc, at_key("up.weight"), at_key("up.bias"), 2);
    auto const w = at::tensor({0.5, 1.0, 0.5}, at::kDouble);
    auto const kernel = at::einsum("i,j,k->ijk", {w, w, w}).view({1, 1, 3, 3, 3});
    u = at::conv_transpose3d(uc, kernel, {}, 2, 1);
    if (level.count("residual.weight") > 0)
      up = up + at::conv3d(plain_residual(u, log_nu, problem.mask.to(at::kDouble)),
                           at_key("residual.weight"));
    g = plain_block(below(level, "dec."), at::cat({h, up}, 1));
  }
  auto const head = at::conv3d(g, at_key("head.weight"), at_key("head.bias"), 1, 1);
  return {u + problem.mask * head * (4.0 / static_cast<double>(n)), g};
}

TEST(MultigridNetwork, ValueAndGradientsEqualPlainTorchInBothLayouts) {
  for (auto layout : {at::MemoryFormat::ChannelsLast3d, at::MemoryFormat::Contiguous}) {
    auto const network = small_network();
    perturb(*network);
    expect_equals_plain(
        *network,
        [](Parameters const& p, at::Tensor const& log_nu) {
          return plain_level(p, log_nu, {}).first;
        },
        layout);
  }
}

TEST(MultigridNetwork, ValueAndGradientsEqualPlainTorchWhereBlocksSeeTheResidual) {
  auto const network = make_network(options_with_residual(), Boundary{}, Source{});
  perturb(*network);
  expect_equals_plain(*network, [](Parameters const& p, at::Tensor const& log_nu) {
    return plain_level(p, log_nu, {}).first;
  });
}

TEST(MultigridNetwork, BlocksThatSeeTheResidualBeginAsTheCoarserOneOfAsManyChannels) {
  auto const values = [](Network const& network, std::string const& level) {
    std::map<std::string, at::Tensor> all;
    for (auto const& tensors : {network.named_parameters(), network.named_buffers()})
      for (auto const& [name, value] : tensors)
        if (name.starts_with(level + ".")) all[name.substr(level.size() + 1)] = value.clone();
    return all;
  };
  auto const network = make_network(options_with_residual(), Boundary{}, Source{});
  perturb(*network);
  auto const unlike = values(*network, "level8"), before = values(*network, "level16");
  network->begin_level(8);  // 4 has twice the channels
  network->begin_level(4);  // the coarsest
  network->begin_level(16);
  int copied = 0;
  for (auto const& [name, value] : values(*network, "level8"))
    EXPECT_TRUE(at::equal(value, unlike.at(name))) << name;
  for (auto const& [name, value] : values(*network, "level16")) {
    bool const same_shape = value.sizes() == unlike.at(name).sizes();
    EXPECT_TRUE(at::equal(value, same_shape ? unlike.at(name) : before.at(name))) << name;
    if (same_shape && !at::equal(value, before.at(name))) ++copied;
  }
  EXPECT_GT(copied, 10);

  auto options = options_with_residual();
  options.residual_input = false;
  auto const plain = make_network(options, Boundary{}, Source{});
  perturb(*plain);
  auto const kept = values(*plain, "level16");
  plain->begin_level(16);
  for (auto const& [name, value] : values(*plain, "level16"))
    EXPECT_TRUE(at::equal(value, kept.at(name))) << name;
}

// The step's own types: bf16 apart, both layouts do the same sums in another order.
TEST(MultigridNetwork, LayoutsAgreeInFloat) {
  constexpr double kRounding = 1e-4;  // relative; float32 through some 20 layers, both ways
  auto const comm = make_self_communicator();
  at::manual_seed(4);
  at::Tensor const log_nu = at::randn({2, 1, 16, 16, 16});
  at::Tensor const du = at::randn({2, 1, 17, 17, 17});
  std::vector<std::vector<at::Tensor>> runs;
  for (auto layout : {at::MemoryFormat::ChannelsLast3d, at::MemoryFormat::Contiguous}) {
    auto const network = small_network();
    perturb(*network);
    ForwardContext const context{.comm = *comm, .layout = layout, .total_samples = 2};
    auto const u = network->forward(context, Grid3::cube(16), {log_nu});
    u[0].backward(du);
    auto& run = runs.emplace_back(u);
    for (auto const& p : network->parameters()) {
      if (p.grad().defined()) run.push_back(p.grad());
    }
  }
  ASSERT_EQ(runs[0].size(), runs[1].size());
  for (std::size_t k = 0; k < runs[0].size(); ++k) {
    double const scale = runs[0][k].abs().max().item<double>();
    EXPECT_LE((runs[0][k] - runs[1][k]).abs().max().item<double>(), kRounding * scale) << k;
  }
}

TEST(MultigridNetwork, NewLevelReproducesTheProlongedCoarseSolution) {
  auto const network = small_network();
  {
    // Train-like change of the inner levels only; level 16 keeps its zero head and down.
    at::NoGradGuard const no_grad;
    for (auto& [name, value] : network->named_parameters()) {
      if (name.rfind("level16", 0) != 0) value.add_(0.1);
    }
  }
  auto const comm = make_self_communicator();
  ForwardContext const context{.comm = *comm, .training = false, .total_samples = 2};
  at::Tensor const log_nu = at::randn({2, 1, 16, 16, 16});
  at::NoGradGuard const no_grad;
  auto const fine = network->forward(context, Grid3::cube(16), {log_nu});
  auto const coarse = network->forward(context, Grid3::cube(8), {at::avg_pool3d(log_nu, 2)});
  EXPECT_TRUE(at::equal(fine[0], at::upsample_trilinear3d(coarse[0], {17, 17, 17}, true)));
}

TEST(MultigridNetwork, HoldsDirichletValuesExactlyWhereFacesMeet) {
  // u = 1 at x = 0, -2 at y = 0; x wins on their edge. Beside it P averages the two.
  Boundary const boundary = parse_boundary("1, flux, -2, flux, flux, flux");
  double const datum = datum_of(boundary);
  EXPECT_TRUE(boundary.has_steps());
  EXPECT_FALSE(Boundary{}.has_steps());
  EquationOptions const equation{.boundary = boundary};
  auto const network = make_network(small_options(), std::make_shared<LevelProblems>(equation));
  perturb(*network);
  auto const comm = make_self_communicator();
  for (std::int64_t n : {4, 8, 16}) {
    ForwardContext const context{.comm = *comm, .total_samples = 2};
    auto const u = network->forward(context, Grid3::cube(n), {at::randn({2, 1, n, n, n})})[0];
    EXPECT_TRUE(u.select(2, 0).eq(1.0 - datum).all().item<bool>()) << n;
    EXPECT_TRUE(u.select(3, 0).narrow(2, 1, n).eq(-2.0 - datum).all().item<bool>()) << n;
    u.sum().backward();
  }
}

TEST(MultigridNetwork, HoldsDirichletValuesExactly) {
  auto const network = small_network();
  perturb(*network);
  auto const comm = make_self_communicator();
  at::NoGradGuard const no_grad;
  ForwardContext const context{.comm = *comm, .dtype = at::kBFloat16, .total_samples = 2};
  auto const u = network->forward(context, Grid3::cube(16), {at::randn({2, 1, 16, 16, 16})})[0];
  EXPECT_TRUE(u.select(2, 0).eq(1.0).all().item<bool>());
  EXPECT_TRUE(u.select(2, 16).eq(0.0).all().item<bool>());
  EXPECT_EQ(u.scalar_type(), at::kFloat);
}

TEST(MultigridNetwork, StartIsAFunctionOfSeedAndNameAlone) {
  auto const three = small_network();
  auto const two = bare_network({.channels = {{4, 8}, {8, 4}}});
  auto const other = bare_network({.channels = {{4, 8}, {8, 4}}, .seed = 2});
  auto const of_three = testing::named_parameters(*three);
  for (auto const& [name, value] : two->named_parameters()) {
    EXPECT_TRUE(at::equal(value, of_three.at(name)));
    EXPECT_FALSE(value.isnan().any().item<bool>()) << name;
  }
  EXPECT_FALSE(at::equal(two->parameters()[0], other->parameters()[0]));
}

TEST(MultigridNetwork, AcceptsAnEmptyUnit) {
  auto const network = small_network();
  auto const comm = make_self_communicator();
  std::vector<at::Tensor> const parameters = network->parameters();
  GradientReducer reducer(*comm, parameters, GradientMode::exact);
  reducer.begin(1);
  ForwardContext const context{
      .comm = *comm, .reducer = &reducer, .dtype = at::kBFloat16, .total_samples = 1};
  auto const u = network->forward(context, Grid3::cube(16), {at::zeros({0, 1, 16, 16, 16})});
  EXPECT_EQ(u[0].sizes(), (std::vector<std::int64_t>{0, 1, 17, 17, 17}));
  torch::autograd::backward(u, {at::zeros_like(u[0])});
}

TEST(MultigridNetwork, GridsAboveTheFinestBlockAreProlonged) {
  auto const network = small_network();
  perturb(*network);
  auto const comm = make_self_communicator();
  ForwardContext const context{.comm = *comm, .training = false, .total_samples = 2};
  at::Tensor const log_nu = at::randn({2, 1, 64, 32, 64});
  at::NoGradGuard const no_grad;
  Grid3 const box = unit_box({64, 32, 64});
  auto const fine = network->forward(context, box, {log_nu});
  Grid3 const finest_block = box.coarsened().coarsened();
  at::Tensor const seen = at::avg_pool3d(at::avg_pool3d(log_nu, 2), 2);
  auto const coarse = network->forward(context, finest_block, {seen});
  auto const half = at::upsample_trilinear3d(coarse[0], {33, 17, 33}, true);
  auto const expected = at::upsample_trilinear3d(half, {65, 33, 65}, true);
  EXPECT_TRUE(at::equal(fine[0], expected));
}

TEST(MultigridNetwork, GridsBetweenLevelsHaveTheBlockOfTheFinerOne) {
  for (auto options : {small_options(), options_with_residual()}) {
    auto const network = make_network(options, Boundary{}, Source{});
    perturb(*network);
    std::vector<std::int64_t> sizes;
    for (auto const& level : network->levels(Grid3::cube(12))) sizes.push_back(level.level);
    EXPECT_EQ(sizes, (std::vector<std::int64_t>{3, 6, 12}));

    // The same weights under the names of levels of just these sizes.
    auto const of = options.channels;
    options.channels = {{3, of.at(4)}, {6, of.at(8)}, {12, of.at(16)}};
    auto const own = make_network(options, Boundary{}, Source{});
    auto const copy = [](auto const& values, auto const& of_larger) {
      std::map<std::string, std::string> const larger{{"3", "4"}, {"6", "8"}, {"12", "16"}};
      at::NoGradGuard const no_grad;
      for (auto const& [name, value] : values) {
        auto const dot = name.find('.');
        auto const there = "level" + larger.at(name.substr(5, dot - 5)) + name.substr(dot);
        for (auto const& [other, weights] : of_larger)
          if (other == there) value.copy_(weights);
      }
    };
    copy(own->named_parameters(), network->named_parameters());
    copy(own->named_buffers(), network->named_buffers());
    auto const comm = make_self_communicator();
    ForwardContext const context{.comm = *comm, .training = false, .total_samples = 2};
    at::NoGradGuard const no_grad;
    for (std::int64_t const factor : {1, options.smoothing > 0 ? 2 : 1}) {
      auto const grid = unit_box({12 * factor, 8 * factor, 4 * factor});
      at::Tensor const log_nu = at::randn({2, 1, grid.voxels[0], grid.voxels[1], grid.voxels[2]});
      EXPECT_TRUE(at::equal(network->forward(context, grid, {log_nu})[0],
                            own->forward(context, grid, {log_nu})[0]))
          << grid.name();
    }
  }
}

TEST(MultigridNetwork, TheCoarsestLevelProposesNoDirections) {
  auto const network = bare_network({.channels = {{4, 4}, {8, 4}}, .subspace = 3});
  std::vector<std::int64_t> levels_with_head;
  for (auto const& level : network->levels(Grid3::cube(8))) {
    for (std::size_t k = 0; k < level.names.size(); ++k) {
      if (level.names[k].find("head.weight") == std::string::npos) continue;
      levels_with_head.push_back(level.level);
      EXPECT_EQ(level.parameters[k].size(0), 3) << level.names[k];
    }
  }
  EXPECT_EQ(levels_with_head, std::vector<std::int64_t>{8});
}

TEST(MultigridNetwork, RefusesGridsAndLevelsThatDoNotFit) {
  auto const options = small_options();
  for (std::int64_t n : {3, 12, 24, 48, 64}) EXPECT_NO_THROW(require_fits(options, Grid3::cube(n)));
  for (std::int64_t n : {2, 5, 10, 14, 20, 33, 40}) {
    EXPECT_THROW(require_fits(options, Grid3::cube(n)), Error) << n;
  }
  EXPECT_THAT([&] { require_fits(options, Grid3::cube(10)); },
              ThrowsMessage<Error>(HasSubstr("let them be 5, 10 in network.channels")));
  EXPECT_THROW(require_fits(options, {{64, 40, 64}, {1, 1, 1}}), Error);
  // Nothing would happen on finer grids.
  NetworkOptions const rough{.channels = {{4, 8}, {8, 4}}, .smoothing = 0};
  EXPECT_THAT([&] { require_fits(rough, Grid3::cube(32)); },
              ThrowsMessage<Error>(HasSubstr("Add 16, 32 to network.channels")));
  EXPECT_THAT([&] { require_fits(rough, Grid3::cube(24)); },
              ThrowsMessage<Error>(HasSubstr("Add 16, 32 to network.channels")));
  EXPECT_THROW(require_fits(options, {{16, 10, 16}, {1, 1, 1}}), Error);
  EXPECT_NO_THROW(require_fits(options, {{16, 8, 12}, {1, 1, 1}}));
  EXPECT_THROW(bare_network({.channels = {{4, 8}, {16, 4}}}), Error);
  EXPECT_THROW(bare_network({.name = "resnet"}), Error);
}

}  // namespace multigrid_network_test
}  // namespace voxcycle
