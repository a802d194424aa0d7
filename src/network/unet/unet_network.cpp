// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/unet_network.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/network/block.hpp"

#include "network/unet/unet_sizes.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

std::shared_ptr<Conv> conv(ConvOptions const& options) {
  return std::make_shared<Conv>(options);
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
  initialise_uniform(module(), options_.seed);
}

UnetNetwork::~UnetNetwork() = default;

void UnetNetwork::require_fits(NetworkOptions const& options, Grid3 const& grid) {
  VOXCYCLE_REQUIRE(options.adaptation == Adaptation::no,
                   "network.adaptation = deepen is for network.name = published. Set no.");
  unet_sizes::require_sizes(options);
  require_valid(grid);
  unet_sizes::require_halvings(options, grid, 0);
}

std::vector<LevelParameters> UnetNetwork::levels(Grid3 const& grid) const {
  LevelParameters own{grid.level(), {}, {}};
  for (auto const& [name, parameter] : named_parameters()) {
    own.parameters.push_back(parameter);
    own.names.push_back(name);
  }
  return {own};
}

MicroBatches UnetNetwork::forward(ForwardContext const& context, Grid3 const& grid,
                                  MicroBatches const& x) {
  require_fits(options_, grid);
  VOXCYCLE_REQUIRE(context.spatial == nullptr,
                   "network: a unet is not shared out in slabs. Set run.spatial_processes = 1.");
  auto const& problem = problems()->at(context, grid);
  MicroBatches const g = core_->forward(context, stem_->forward(context, as_features(context, x)));
  MicroBatches const u = each(head_->forward(context, g), [&](at::Tensor const& n) {
    return at::addcmul(problem.lift, problem.mask, n.to(solution_type(context)).contiguous(),
                       problem.size);
  });
  return smoothed(problem, u, x);
}

Script UnetNetwork::script() const {
  return {"UnetNetwork",
          {{"depth", options_.depth}, {"too_coarse", unet_sizes::too_coarse(options_)}}};
}

}  // namespace voxcycle
