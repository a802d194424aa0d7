// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/published_unet.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/network/conv.hpp"
#include "voxcycle/network/norm_act.hpp"
#include "voxcycle/network/recompute.hpp"

#include <utility>

#include "network/multigrid/level_equation.hpp"
#include "network/unet/unet_sizes.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

constexpr double kNegativeSlope = 0.2;

/// A convolution without bias, normalisation and leaky ReLU.
class ConvNorm : public torch::nn::Module, public Scripted {
 public:
  ConvNorm(ConvKind kind, std::int64_t in, std::int64_t out, Norm norm)
      : conv_(register_module(
            "conv", std::make_shared<Conv>(ConvOptions{.kind = kind, .in = in, .out = out}))),
        norm_(register_module(
            "norm", std::make_shared<NormAct>(NormOptions{
                        .norm = norm, .channels = out, .negative_slope = kNegativeSlope}))) {}
  template <class... Features>
  MicroBatches forward(ForwardContext const& context, Features const&... x) {
    return norm_->forward(context, conv_->forward(context, x...));
  }
  Script script() const override { return {"ConvNorm"}; }

 private:
  std::shared_ptr<Conv> conv_;
  std::shared_ptr<NormAct> norm_;
};

/// The solution's correction on the nodes, or what the sigmoid takes.
std::shared_ptr<Conv> head(std::int64_t channels, Start start) {
  return std::make_shared<Conv>(ConvOptions{
      .kind = ConvKind::node, .in = channels, .out = 1, .bias = Bias::yes, .start = start});
}

/// stem(x) + from_finer. @param from_finer  empty on the finest grid
MicroBatches encoded(ForwardContext const& context, torch::nn::Module const& layers, ConvNorm& stem,
                     MicroBatches const& x, MicroBatches const& from_finer) {
  auto const features = [&stem](ForwardContext const& p, Fields const& in) -> Fields {
    MicroBatches const y = stem.forward(p, as_features(p, in[0]));
    return {in[1].empty() ? y : each(y, in[1], [](auto& a, auto& b) { return a + b; })};
  };
  return recomputed(context, layers, {x, from_finer}, features)[0];
}

/// fuse( cat(h, up(coarse)) )
MicroBatches decoded(ForwardContext const& context, torch::nn::Module const& layers, ConvNorm& up,
                     ConvNorm& fuse, MicroBatches h, MicroBatches coarse) {
  auto const features = [&](ForwardContext const& p, Fields const& in) -> Fields {
    return {fuse.forward(p, in[0], up.forward(p, in[1]))};
  };
  return recomputed(context, layers, two_fields(std::move(h), std::move(coarse)), features)[0];
}

/// A sample at a time: torch's wide loops leave the end of a tensor to a narrow one, which rounds
/// otherwise, and a sample's bits must not depend on how many are beside it.
at::Tensor sigmoids(at::Tensor const& x) {
  std::vector<at::Tensor> samples;
  for (auto const& sample : x.split(1)) samples.push_back(at::sigmoid(sample));
  return at::cat(samples);
}

bool deepens(NetworkOptions const& options) {
  return options.adaptation == Adaptation::deepen;
}

/// The level whose network has no stage around it; 0: any grid.
std::int64_t coarsest_level(NetworkOptions const& options) {
  if (!deepens(options)) return 0;
  VOXCYCLE_REQUIRE(!options.cycle_levels.empty(),
                   "network.adaptation = deepen without levels. Set cycle.levels.");
  return options.cycle_levels.front();
}

/// Stages around the innermost network on grid n. @throws Error where it cannot be deepened so far
int stages_on(NetworkOptions const& options, Grid3 const& grid) {
  if (!deepens(options)) return 0;
  std::int64_t const coarsest = coarsest_level(options);
  std::int64_t n = coarsest;
  int stages = 0;
  for (; n < grid.level(); n *= 2) ++stages;
  VOXCYCLE_REQUIRE(n == grid.level(), "network.adaptation = deepen: the network of level "
                                          << coarsest << " cannot be deepened to level "
                                          << grid.label() << " (each stage doubles the grid). Let "
                                          << "cycle.levels double.");
  VOXCYCLE_REQUIRE(n <= options.cycle_levels.back(),
                   "network.adaptation = deepen: level "
                       << grid.label() << " has no stage of its own. Add it to cycle.levels and "
                       << "train it.");
  return stages;
}

}  // namespace

/// The network without stages.
class PublishedUnet::Core : public torch::nn::Module, public Scripted {
 public:
  explicit Core(NetworkOptions const& options) {
    add("stem", stem_, ConvKind::same, options.inputs, options.base_channels, options.norm);
    for (std::int64_t k = 0; k < options.depth; ++k) {
      auto const number = std::to_string(k);
      std::int64_t const channels = unet_sizes::channels(options, k);
      std::int64_t const wider = unet_sizes::channels(options, k + 1);
      add("down" + number, down_.emplace_back(), ConvKind::wide_down, channels, wider,
          options.norm);
      add("up" + number, up_.emplace_back(), ConvKind::wide_up, wider, channels, options.norm);
      add("fuse" + number, fuse_.emplace_back(), ConvKind::same, 2 * channels, channels,
          options.norm);
    }
    head_ = register_module("head", voxcycle::head(options.base_channels, Start::uniform));
  }

  MicroBatches features(ForwardContext const& context, MicroBatches const& x,
                        MicroBatches const& from_finer) {
    return below(context, encoded(context, *this, *stem_, x, from_finer), 0);
  }
  MicroBatches head(ForwardContext const& context, MicroBatches const& g) {
    return head_->forward(context, g);
  }
  Script script() const override { return {"PublishedCore"}; }

 private:
  void add(std::string const& name, std::shared_ptr<ConvNorm>& layer, ConvKind kind,
           std::int64_t in, std::int64_t out, Norm norm) {
    layer = register_module(name, std::make_shared<ConvNorm>(kind, in, out, norm));
  }

  /// g_k of h_k.
  MicroBatches below(ForwardContext const& context, MicroBatches h, std::size_t k) {
    if (k == down_.size()) return h;
    auto const down = [this, k](ForwardContext const& p, Fields const& in) -> Fields {
      return {down_[k]->forward(p, in[0])};
    };
    MicroBatches coarse = below(context, recomputed(context, *this, {h}, down)[0], k + 1);
    return decoded(context, *this, *up_[k], *fuse_[k], std::move(h), std::move(coarse));
  }

  std::shared_ptr<ConvNorm> stem_;
  std::vector<std::shared_ptr<ConvNorm>> down_, up_, fuse_;
  std::shared_ptr<Conv> head_;
};

/// What a finer grid puts around the network of the next coarser one.
class PublishedUnet::Stage : public torch::nn::Module, public Scripted {
 public:
  Stage(NetworkOptions const& options, std::int64_t n)
      : n_(n), scale_(options.correction_scale / static_cast<double>(n)) {
    std::int64_t const c = options.base_channels;
    Norm const norm = options.norm;
    auto const layer = [&](char const* name, ConvKind kind, std::int64_t in) {
      return register_module(name, std::make_shared<ConvNorm>(kind, in, c, norm));
    };
    stem_ = layer("stem", ConvKind::same, options.inputs);
    down_ = register_module("down", std::make_shared<Conv>(ConvOptions{.kind = ConvKind::wide_down,
                                                                       .in = c,
                                                                       .out = c,
                                                                       .bias = Bias::yes,
                                                                       .start = Start::zero}));
    up_ = layer("up", ConvKind::wide_up, c);
    fuse_ = layer("fuse", ConvKind::same, 2 * c);
    head_ = register_module("head", voxcycle::head(c, Start::zero));
  }

  MicroBatches encode(ForwardContext const& context, MicroBatches const& x,
                      MicroBatches const& from_finer) {
    return encoded(context, *this, *stem_, x, from_finer);
  }
  MicroBatches to_coarser(ForwardContext const& context, MicroBatches const& h) {
    return down_->forward(context, h);
  }
  MicroBatches decode(ForwardContext const& context, MicroBatches h, MicroBatches coarse) {
    return decoded(context, *this, *up_, *fuse_, std::move(h), std::move(coarse));
  }
  MicroBatches head(ForwardContext const& context, MicroBatches const& g) {
    return head_->forward(context, g);
  }
  double scale() const { return scale_; }
  Script script() const override { return {"PublishedStage", {{"n", n_}, {"scale", scale_}}}; }

 private:
  std::int64_t n_;
  double scale_;  ///< of the correction
  std::shared_ptr<ConvNorm> stem_, up_, fuse_;
  std::shared_ptr<Conv> down_, head_;
};

/// Of the network of one grid.
struct PublishedUnet::Output {
  MicroBatches u;  ///< on its nodes
  MicroBatches g;  ///< features on its voxels
};

PublishedUnet::PublishedUnet(NetworkOptions const& options, std::shared_ptr<LevelProblems> problems)
    : Network(std::move(problems)), options_(options) {
  unet_sizes::require_sizes(options_);
  core_ = module().register_module("core", std::make_shared<Core>(options_));
  if (deepens(options_)) {
    for (auto n = 2 * coarsest_level(options_); n <= options_.cycle_levels.back(); n *= 2) {
      stages_[n] = module().register_module("stage" + std::to_string(n),
                                            std::make_shared<Stage>(options_, n));
    }
  }
  initialise_uniform(module(), options_.seed);
}

PublishedUnet::~PublishedUnet() = default;

void PublishedUnet::require_fits(NetworkOptions const& options, Grid3 const& grid) {
  unet_sizes::require_sizes(options);
  // oneDNN sums the gradients of one channel's samples in an order that follows their number.
  VOXCYCLE_REQUIRE(options.base_channels > 1,
                   "network.name = published needs two channels at least. Raise "
                   "network.base_channels.");
  require_valid(grid);
  int const stages = stages_on(options, grid);
  unet_sizes::require_halvings(options, grid, stages);
}

std::vector<LevelParameters> PublishedUnet::levels(Grid3 const& grid) const {
  auto const of = [](std::int64_t level, std::string const& prefix,
                     torch::nn::Module const& module) {
    LevelParameters entry{level, {}, {}};
    for (auto const& parameter : module.named_parameters()) {
      entry.parameters.push_back(parameter.value());
      entry.names.push_back(prefix + "." + parameter.key());
    }
    return entry;
  };
  std::vector<LevelParameters> all{
      of(deepens(options_) ? coarsest_level(options_) : grid.level(), "core", *core_)};
  for (auto const& [n, stage] : stages_) {
    if (n <= grid.level()) all.push_back(of(n, "stage" + std::to_string(n), *stage));
  }
  return all;
}

PublishedUnet::Output PublishedUnet::run(ForwardContext const& context, LevelEquation& equation,
                                         Grid3 const& grid, MicroBatches const& x,
                                         MicroBatches const& from_finer) {
  auto const& problem = problems()->at(context, grid);
  auto const solution = [&](at::Tensor const& head) {
    return head.to(solution_type(context)).contiguous();
  };
  auto const found = stages_.find(grid.level());
  if (found == stages_.end()) {
    MicroBatches g = core_->features(context, x, from_finer);
    at::Tensor const low = problem.lift * (1 - problem.mask) + problem.lift.amin() * problem.mask;
    MicroBatches const u = each(core_->head(context, g), [&](at::Tensor const& head) {
      return at::addcmul(low, problem.mask, sigmoids(solution(head)), problem.size);
    });
    return {equation.smoothed(grid, u, x), std::move(g)};
  }
  auto& stage = *found->second;
  MicroBatches h = stage.encode(context, x, from_finer);
  MicroBatches const pooled = each(x, [](at::Tensor const& fine) {
    return at::avg_pool3d(fine, {2, 2, 2});
  });
  Output coarse = run(context, equation, grid.coarsened(), pooled, stage.to_coarser(context, h));
  MicroBatches g = stage.decode(context, std::move(h), std::move(coarse.g));
  double const scale = problem.size * stage.scale();
  MicroBatches const u = each(equation.prolonged(grid, coarse.u), stage.head(context, g),
                              [&](at::Tensor const& base, at::Tensor const& head) {
                                return at::addcmul(base, problem.mask, solution(head), scale);
                              });
  return {equation.smoothed(grid, u, x), std::move(g)};
}

MicroBatches PublishedUnet::forward(ForwardContext const& context, Grid3 const& grid,
                                    MicroBatches const& x) {
  require_fits(options_, grid);
  VOXCYCLE_REQUIRE(context.spatial == nullptr,
                   "network: a unet is not shared out in slabs. Set run.spatial_processes = 1.");
  auto const equation = equation_of(context, *problems(), grid, x, 1);
  return run(context, *equation, grid, x, {}).u;
}

Script PublishedUnet::script() const {
  return {"PublishedUnet",
          {{"depth", options_.depth},
           {"coarsest", coarsest_level(options_)},
           {"finest", deepens(options_) ? options_.cycle_levels.back() : 0},
           {"too_coarse", unet_sizes::too_coarse(options_)}}};
}

}  // namespace voxcycle
