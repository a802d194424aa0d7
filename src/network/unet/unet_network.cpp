// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/unet_network.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/network/block.hpp"

#include <algorithm>
#include <iterator>

#include "network/unet/unet_sizes.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

std::shared_ptr<Conv> conv(ConvOptions const& options) {
  return std::make_shared<Conv>(options);
}

MicroBatches sum(MicroBatches const& a, MicroBatches const& b) {
  return each(a, b, [](at::Tensor const& x, at::Tensor const& y) { return x + y; });
}

/// x + conv( leaky(norm( conv(x) )) ); the second convolution starts at zero.
class Residual : public torch::nn::Module, public Scripted {
 public:
  Residual(std::int64_t channels, Norm norm)
      : conv1_(register_module("conv1", conv({.in = channels, .out = channels}))),
        norm_(register_module(
            "norm", std::make_shared<NormAct>(NormOptions{.norm = norm, .channels = channels}))),
        conv2_(register_module(
            "conv2",
            conv({.in = channels, .out = channels, .bias = Bias::yes, .start = Start::zero}))) {}
  MicroBatches forward(ForwardContext const& context, MicroBatches const& x) {
    return sum(x, conv2_->forward(context, norm_->forward(context, conv1_->forward(context, x))));
  }
  Script script() const override { return {"Residual"}; }

 private:
  std::shared_ptr<Conv> conv1_;
  std::shared_ptr<NormAct> norm_;
  std::shared_ptr<Conv> conv2_;
};

std::string extra_name(std::int64_t level) {
  return "extra" + std::to_string(level);
}

}  // namespace

/// Encoder and decoder between stem and head.
class UnetNetwork::Core : public torch::nn::Module, public Scripted {
 public:
  Core(std::int64_t depth, std::int64_t channels, Norm norm) : depth_(depth) {
    for (std::int64_t k = 0; k <= depth; ++k, channels *= 2) {
      auto const number = std::to_string(k);
      enc_.push_back(
          register_module("enc" + number, std::make_shared<Block>(channels, channels, norm)));
      if (k == depth) break;
      down_.push_back(register_module(
          "down" + number,
          conv({.kind = ConvKind::down, .in = channels, .out = 2 * channels, .bias = Bias::yes})));
      up_.push_back(register_module(
          "up" + number,
          conv({.kind = ConvKind::up, .in = 2 * channels, .out = channels, .bias = Bias::yes})));
      dec_.push_back(
          register_module("dec" + number, std::make_shared<Block>(2 * channels, channels, norm)));
    }
  }

  MicroBatches forward(ForwardContext const& context, MicroBatches const& x, std::int64_t k = 0) {
    auto const at = static_cast<std::size_t>(k);
    MicroBatches h = enc_[at]->recomputed(
        context, *this, {x}, [](ForwardContext const&, Fields const& in) { return in; })[0];
    if (k == depth_) return h;
    MicroBatches coarse = forward(context, down_[at]->forward(context, h), k + 1);
    auto const with_coarse = [this, at](ForwardContext const& p, Fields const& in) -> Fields {
      return {in[0], up_[at]->forward(p, in[1])};
    };
    return dec_[at]->recomputed(context, *this, two_fields(std::move(h), std::move(coarse)),
                                with_coarse)[0];
  }

  Script script() const override { return {"UnetCore"}; }

 private:
  std::int64_t depth_;
  std::vector<std::shared_ptr<Block>> enc_, dec_;
  std::vector<std::shared_ptr<Conv>> down_, up_;
};

/// The layers that one level brings.
class UnetNetwork::Extra : public torch::nn::Module, public Scripted {
 public:
  Extra(std::int64_t level, std::int64_t channels, Norm norm)
      : before(register_module("before", std::make_shared<Residual>(channels, norm))),
        after(register_module("after", std::make_shared<Residual>(channels, norm))),
        level_(level) {}
  Script script() const override { return {"UnetExtra", {{"n", level_}}}; }
  std::shared_ptr<Residual> before, after;

 private:
  std::int64_t level_;
};

UnetNetwork::UnetNetwork(NetworkOptions const& options, std::shared_ptr<LevelProblems> problems)
    : Network(std::move(problems)), options_(options) {
  unet_sizes::require_sizes(options_);
  std::int64_t const channels = options_.base_channels;
  stem_ = module().register_module(
      "stem", conv({.in = options_.inputs, .out = channels, .bias = Bias::yes}));
  core_ = module().register_module("core",
                                   std::make_shared<Core>(options_.depth, channels, options_.norm));
  head_ = module().register_module("head", conv({.kind = ConvKind::node,
                                                 .in = channels,
                                                 .out = 1,
                                                 .bias = Bias::yes,
                                                 .start = Start::zero}));
  if (options_.adaptation == Adaptation::widen) {
    VOXCYCLE_REQUIRE(!options_.cycle_levels.empty(),
                     "network: adaptation without levels. Set cycle.levels.");
    for (std::size_t k = 1; k < options_.cycle_levels.size(); ++k) {
      auto const level = options_.cycle_levels[k];
      extras_[level] = module().register_module(
          extra_name(level), std::make_shared<Extra>(level, channels, options_.norm));
    }
  }
  initialise_uniform(module(), options_.seed);
}

UnetNetwork::~UnetNetwork() = default;

void UnetNetwork::require_fits(NetworkOptions const& options, Grid3 const& grid) {
  VOXCYCLE_REQUIRE(options.adaptation != Adaptation::deepen,
                   "network.adaptation = deepen is for network.name = published. Set widen or no.");
  unet_sizes::require_sizes(options);
  require_valid(grid);
  unet_sizes::require_halvings(options, grid, 0);
  if (options.adaptation == Adaptation::no) return;
  auto const& known = options.cycle_levels;
  VOXCYCLE_REQUIRE(std::find(known.begin(), known.end(), grid.level()) != known.end(),
                   "network: level " << grid.label() << " has no layers of its own, as "
                                     << "network.adaptation asks for. Add it to cycle.levels and "
                                     << "train it.");
}

std::vector<LevelParameters> UnetNetwork::levels(Grid3 const& grid) const {
  std::int64_t const finest = grid.level();
  LevelParameters own{finest, {}, {}};
  auto const add = [](LevelParameters& to, std::string const& prefix,
                      torch::nn::Module const& module) {
    for (auto const& parameter : module.named_parameters()) {
      to.parameters.push_back(parameter.value());
      to.names.push_back(prefix + "." + parameter.key());
    }
  };
  add(own, "stem", *stem_);
  add(own, "core", *core_);
  add(own, "head", *head_);
  std::vector<LevelParameters> all;
  for (auto const& [level, extra] : extras_) {
    if (level > finest) break;
    LevelParameters entry{level, {}, {}};
    add(level == finest ? own : entry, extra_name(level), *extra);
    if (level < finest) all.push_back(std::move(entry));
  }
  all.push_back(std::move(own));
  return all;
}

MicroBatches UnetNetwork::forward(ForwardContext const& context, Grid3 const& grid,
                                  MicroBatches const& x) {
  require_fits(options_, grid);
  VOXCYCLE_REQUIRE(context.spatial == nullptr,
                   "network: a unet is not shared out in slabs. Set run.spatial_processes = 1.");
  auto const& problem = problems()->at(context, grid);
  auto const beyond = extras_.upper_bound(grid.level());
  MicroBatches h = stem_->forward(context, as_features(context, x));
  for (auto place = beyond; place != extras_.begin();) {
    h = (--place)->second->before->forward(context, h);
  }
  MicroBatches g = core_->forward(context, h);
  for (auto place = extras_.begin(); place != beyond; ++place) {
    g = place->second->after->forward(context, g);
  }
  MicroBatches const u = each(head_->forward(context, g), [&](at::Tensor const& n) {
    return at::addcmul(problem.lift, problem.mask, n.to(solution_type(context)).contiguous(),
                       problem.size);
  });
  return smoothed(problem, u, x);
}

Script UnetNetwork::script() const {
  bool const adapts = options_.adaptation == Adaptation::widen;
  return {"UnetNetwork",
          {{"depth", options_.depth},
           {"levels", adapts ? options_.cycle_levels : std::vector<std::int64_t>{}},
           {"too_coarse", unet_sizes::too_coarse(options_)}}};
}

}  // namespace voxcycle
