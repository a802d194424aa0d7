// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/published_unet.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/prolongation.hpp"

#include "networks.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace published_unet_test {

using ::testing::AllOf;
using testing::bare_network;
using testing::below;
using testing::default_problem;
using testing::expect_equals_plain;
using ::testing::HasSubstr;
using testing::Parameters;
using testing::perturb;
using ::testing::ThrowsMessage;

NetworkOptions small(Adaptation adaptation = Adaptation::no,
                     std::vector<std::int64_t> levels = {4, 8, 16}) {
  return {.name = "published",
          .correction_scale = 4.0,
          .depth = 2,
          .base_channels = 2,
          .adaptation = adaptation,
          .cycle_levels = std::move(levels)};
}

/// The network of the class comment, with torch's own operations.
class Plain {
 public:
  explicit Plain(Parameters parameters) : p_(std::move(parameters)) {}

  at::Tensor u(at::Tensor const& x, std::vector<std::int64_t> const& stages) const {
    return run(x, {}, stages).first;
  }

 private:
  /// u and features. @param stages  coarsest first
  std::pair<at::Tensor, at::Tensor> run(at::Tensor const& x, at::Tensor const& from_finer,
                                        std::vector<std::int64_t> stages) const {
    std::int64_t const n = x.size(2);
    auto const problem = default_problem(Grid3::cube(n));
    std::string const name = stages.empty() ? "core." : "stage" + std::to_string(n) + ".";
    at::Tensor h = conv_norm(name + "stem", x, 1);
    if (from_finer.defined()) h = h + from_finer;
    if (stages.empty()) {
      at::Tensor const g = inner(h, 0);
      return {(1 - problem.mask) * problem.lift + problem.mask * at::sigmoid(head(name, g)), g};
    }
    EXPECT_EQ(stages.back(), n);
    stages.pop_back();
    at::Tensor const down =
        at::conv3d(h, p_.at(name + "down.weight"), p_.at(name + "down.bias"), 2, 1);
    auto const [coarse, below] = run(at::avg_pool3d(x, 2), down, stages);
    at::Tensor const g = conv_norm(name + "fuse", at::cat({h, up(name + "up", below)}, 1), 1);
    double const scale = 4.0 / static_cast<double>(n);
    return {prolonged(coarse, Grid3::cube(n)) + problem.mask * scale * head(name, g), g};
  }

  at::Tensor inner(at::Tensor const& h, int k) const {
    if (k == 2) return h;
    auto const number = std::to_string(k);
    at::Tensor const coarse = inner(conv_norm("core.down" + number, h, 2), k + 1);
    return conv_norm("core.fuse" + number, at::cat({h, up("core.up" + number, coarse)}, 1), 1);
  }

  at::Tensor conv_norm(std::string const& name, at::Tensor const& x, std::int64_t stride) const {
    return normalised(name, at::conv3d(x, p_.at(name + ".conv.weight"), {}, stride, 1));
  }
  at::Tensor up(std::string const& name, at::Tensor const& x) const {
    return normalised(name, at::conv_transpose3d(x, p_.at(name + ".conv.weight"), {}, 2, 1));
  }
  at::Tensor normalised(std::string const& name, at::Tensor const& y) const {
    return at::leaky_relu(at::batch_norm(y, p_.at(name + ".norm.gamma"), p_.at(name + ".norm.beta"),
                                         {}, {}, true, 0.1, 1e-5, false),
                          0.2);
  }
  at::Tensor head(std::string const& name, at::Tensor const& g) const {
    return at::conv3d(g, p_.at(name + "head.weight"), p_.at(name + "head.bias"), 1, 1);
  }

  Parameters p_;
};

TEST(PublishedUnet, ValueAndGradientsEqualPlainTorch) {
  auto const fixed = bare_network(small());
  perturb(*fixed);
  expect_equals_plain(
      *fixed, [](Parameters const& p, at::Tensor const& log_nu) { return Plain(p).u(log_nu, {}); });
  auto const deepened = bare_network(small(Adaptation::deepen, {4, 8, 16, 32}));
  perturb(*deepened);
  expect_equals_plain(*deepened, [](Parameters const& p, at::Tensor const& log_nu) {
    return Plain(p).u(log_nu, {8, 16});  // on 16^3: not the stage of 32
  });
}

TEST(PublishedUnet, DoublesItsChannelsThreeTimes) {
  auto options = small();
  options.depth = 4;
  options.base_channels = 16;
  auto const p = testing::named_parameters(*bare_network(options));
  for (auto const& [name, channels] :
       std::map<std::string, std::vector<std::int64_t>>{{"stem", {16, 1, 3, 3, 3}},
                                                        {"down0", {32, 16, 4, 4, 4}},
                                                        {"down1", {64, 32, 4, 4, 4}},
                                                        {"down2", {128, 64, 4, 4, 4}},
                                                        {"down3", {128, 128, 4, 4, 4}},
                                                        {"up3", {128, 128, 4, 4, 4}},
                                                        {"fuse3", {128, 256, 3, 3, 3}}}) {
    EXPECT_EQ(p.at("core." + name + ".conv.weight").sizes(), channels) << name;
  }
}

TEST(PublishedUnet, EntersAFinerGridWithTheProlongedSolutionOfTheCoarser) {
  auto const comm = make_self_communicator();
  at::NoGradGuard const no_grad;
  for (auto norm : {Norm::instance, Norm::sync_batch}) {
    auto options = small(Adaptation::deepen);
    options.norm = norm;
    options.cycle_levels = {8, 16, 32};
    auto const network = bare_network(options);
    at::manual_seed(2);
    for (auto const& [name, p] : network->named_parameters()) {
      if (!name.starts_with("stage32")) p.add_(at::randn(p.sizes()) * 0.3);  // as trained to 16^3
    }
    at::Tensor const fine = at::randn({2, 1, 32, 32, 32});
    for (bool training : {true, false}) {
      ForwardContext const context{.comm = *comm, .training = training, .total_samples = 2};
      auto const coarse =
          network->forward(context, Grid3::cube(16), {at::avg_pool3d(fine, 2)}).front();
      auto const entered = network->forward(context, Grid3::cube(32), {fine}).front();
      EXPECT_TRUE(at::equal(entered, prolonged(coarse, Grid3::cube(32)))) << training;
      EXPECT_GT((coarse[0] - coarse[1]).abs().max().item<double>(), 0.01);
    }
  }
}

TEST(PublishedUnet, StagesBelongToTheirGridsAndTheInnermostToTheCoarsest) {
  auto const levels_of = [](Network const& network, std::int64_t n) {
    std::vector<std::int64_t> found;
    std::size_t names = 0;
    for (auto const& entry : network.levels(Grid3::cube(n))) {
      found.push_back(entry.level);
      names += entry.names.size();
      for (auto const& name : entry.names) {
        EXPECT_TRUE(
            name.starts_with(entry.level == 4 ? "core." : "stage" + std::to_string(entry.level)));
      }
    }
    EXPECT_EQ(names == network.parameters().size(), n == 16);
    return found;
  };
  auto const deepened = bare_network(small(Adaptation::deepen));
  EXPECT_EQ(levels_of(*deepened, 4), (std::vector<std::int64_t>{4}));
  EXPECT_EQ(levels_of(*deepened, 16), (std::vector<std::int64_t>{4, 8, 16}));
  auto const fixed = bare_network(small());
  EXPECT_EQ(fixed->levels(Grid3::cube(16)).front().level, 16) << "shared weights are never old";
}

TEST(PublishedUnet, KeepsBetweenTheDirichletValuesAndHoldsThoseExactly) {
  auto const comm = make_self_communicator();
  at::NoGradGuard const no_grad;
  auto options = small();
  options.smoothing = 0;
  auto const network =
      make_network(options, parse_boundary("-1, flux, flux, 5, flux, 2"), Source{});
  perturb(*network);
  testing::named_parameters(*network).at("core.head.weight").mul_(100.0);  // to both ends
  for (auto dtype : {at::kBFloat16, at::kFloat}) {
    ForwardContext const context{.comm = *comm, .dtype = dtype, .total_samples = 2};
    auto const x = at::randn({2, 1, 8, 8, 8}) * 3;
    auto const u = network->forward(context, Grid3::cube(8), {x}).front() - 1.0;  // from the datum
    EXPECT_TRUE(u.select(2, 0).eq(-1.0).all().item<bool>());
    EXPECT_TRUE(u.select(3, 8).narrow(2, 1, 8).eq(5.0).all().item<bool>());
    EXPECT_GE(u.min().item<double>(), -1.0);
    EXPECT_LE(u.max().item<double>(), 5.0);
    auto const inside = u.narrow(2, 1, 7).narrow(3, 1, 6);
    EXPECT_LT(inside.min().item<double>(), -0.99);
    EXPECT_GT(inside.max().item<double>(), 4.99);
  }
}

TEST(PublishedUnet, RefusesGridsThatItCannotBeDeepenedTo) {
  auto const refusal = [](NetworkOptions const& options, Grid3 const& grid) {
    return [options, grid] { require_fits(options, grid); };
  };
  auto const deep = small(Adaptation::deepen, {4, 8, 16});
  for (std::int64_t n : {4, 8, 16}) EXPECT_NO_THROW(refusal(deep, Grid3::cube(n))()) << n;
  EXPECT_THAT(refusal(deep, Grid3::cube(32)),
              ThrowsMessage<Error>(AllOf(HasSubstr("32^3"), HasSubstr("cycle.levels"))));
  EXPECT_THAT(refusal(small(Adaptation::deepen, {8, 12}), Grid3::cube(12)),
              ThrowsMessage<Error>(AllOf(HasSubstr("8 cannot be deepened to level 12^3"),
                                         HasSubstr("cycle.levels double"))));
  EXPECT_THAT(refusal(small(Adaptation::deepen, {2, 4}), Grid3::cube(4)),
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("halved 3 times"), HasSubstr("network.depth to 1 or less"))));
  EXPECT_THAT(refusal(small(Adaptation::deepen, {4, 8, 16}), {{16, 16, 8}, {1, 1, 0.5}}),
              ThrowsMessage<Error>(HasSubstr("16x16x8 cannot be halved 4 times")));
  auto thin = deep;
  thin.base_channels = 1;
  EXPECT_THAT(refusal(thin, Grid3::cube(16)),
              ThrowsMessage<Error>(HasSubstr("network.base_channels")));
  auto lone = deep;
  lone.norm = Norm::instance;
  EXPECT_THAT(refusal(lone, Grid3::cube(16)), ThrowsMessage<Error>(HasSubstr("one voxel")));
  auto other = deep;
  other.name = "unet";
  EXPECT_THAT(refusal(other, Grid3::cube(8)),
              ThrowsMessage<Error>(HasSubstr("network.name = published")));
}

}  // namespace published_unet_test
}  // namespace voxcycle
