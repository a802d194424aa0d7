// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/multigrid_network.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/network/block.hpp"
#include "voxcycle/network/spatial.hpp"

#include <iterator>
#include <utility>

#include "network/multigrid/level_equation.hpp"
#include "network/multigrid/residual_input.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

/// A correction that is added as it is begins with nothing; a direction that is nothing would stay
/// so.
ConvOptions head_options(NetworkOptions const& options, std::int64_t channels) {
  bool const proposes = options.subspace > 0;
  return {.kind = ConvKind::node,
          .in = channels,
          .out = proposes ? options.subspace : 1,
          .bias = Bias::yes,
          .start = proposes ? Start::uniform : Start::zero};
}

}  // namespace

/// The block of grid n; `child` is the number of channels of grid n/2, 0 on the coarsest.
class MultigridNetwork::Level : public torch::nn::Module, public Scripted {
 public:
  Level(NetworkOptions const& options, std::int64_t n, std::int64_t channels, std::int64_t child)
      : n_(n), scale_(options.correction_scale / static_cast<double>(n)) {
    Norm const norm = options.norm;
    stem =
        register_module("stem", conv({.in = options.inputs, .out = channels, .bias = Bias::yes}));
    enc = register_module("enc", std::make_shared<Block>(channels, channels, norm));
    if (child > 0 || options.subspace == 0) {
      head = register_module("head", conv(head_options(options, channels)));
    }
    if (child == 0) return;
    down = register_module("down", conv({.kind = ConvKind::down,
                                         .in = channels,
                                         .out = child,
                                         .bias = Bias::yes,
                                         .start = Start::zero}));
    up = register_module(
        "up", conv({.kind = ConvKind::up, .in = child, .out = channels, .bias = Bias::yes}));
    if (options.residual_input)
      residual =
          register_module("residual", conv({.kind = ConvKind::point, .in = 8, .out = channels}));
    dec = register_module("dec", std::make_shared<Block>(2 * channels, channels, norm));
  }
  bool coarsest() const { return down == nullptr; }
  std::int64_t channels() const { return stem->weight.size(0); }

  /// What run_level does before its recursion.
  /// @param from_finer  empty on the finest level
  MicroBatches encode(ForwardContext const& context, MicroBatches const& x,
                      MicroBatches const& from_finer) {
    auto const features = [this](ForwardContext const& p, Fields const& in) -> Fields {
      MicroBatches const y = stem->forward(p, as_features(p, in[0]));
      return {in[1].empty() ? y : each(y, in[1], [](auto& a, auto& b) { return a + b; })};
    };
    return enc->recomputed(context, *this, {x, from_finer}, features)[0];
  }

  /// What run_level does after it: features and the head's output.
  /// @param coarse  features of the coarser level
  /// @param seen    what residual_input() makes of u; empty if blocks do not see it
  std::pair<MicroBatches, MicroBatches> decode(ForwardContext const& context, MicroBatches h,
                                               MicroBatches coarse, MicroBatches seen) {
    auto const with_coarse = [this](ForwardContext const& p, Fields const& in) -> Fields {
      MicroBatches const raised = up->forward(p, in[1]);
      if (!residual) return {in[0], raised};
      return {in[0],
              each(raised, residual->forward(p, in[2]), [](auto& a, auto& b) { return a + b; })};
    };
    Fields inputs = two_fields(std::move(h), std::move(coarse));
    if (residual) inputs.push_back(std::move(seen));
    auto const y = dec->recomputed(context, *this, std::move(inputs), with_coarse,
                                   [this](ForwardContext const& p, MicroBatches const& g) {
                                     return Fields{g, head->forward(p, g)};
                                   });
    return {y[0], y[1]};
  }

  Script script() const override { return {"MultigridLevel", {{"n", n_}, {"scale", scale_}}}; }

  std::shared_ptr<Conv> stem, head, down, up, residual;
  std::shared_ptr<Block> enc, dec;

 private:
  std::int64_t n_;
  double scale_;  ///< of the correction

  static std::shared_ptr<Conv> conv(ConvOptions const& options) {
    return std::make_shared<Conv>(options);
  }
};

/// What a level hands to the finer one.
struct MultigridNetwork::Output {
  MicroBatches u;  ///< solution on the nodes of this level
  MicroBatches g;  ///< decoded features on its voxels
};

namespace {

/// Whether halving grid n ends at a block: smoothing steps alone can do above it.
bool is_above_blocks(NetworkOptions const& options, std::int64_t n) {
  auto const finest = options.channels.rbegin()->first;
  if (n <= finest) return false;
  while (n > finest && n % 2 == 0) n /= 2;
  return block_of(options, n) > 0;
}

/// Of a grid above the coarsest level, to that level.
int halvings_to_coarsest(NetworkOptions const& options, Grid3 const& grid) {
  int halvings = 0;
  for (auto n = grid.level(); n > options.channels.begin()->first; n /= 2) ++halvings;
  return halvings;
}

void require_blocks(NetworkOptions const& options) {
  VOXCYCLE_REQUIRE(!options.channels.empty(), "network: no levels. Set network.channels.");
  VOXCYCLE_REQUIRE(!options.residual_input ||
                       (options.smoothing == 0 && options.coarse == CoarseLevels::averaged),
                   "network: blocks that see the residual have no smoothing steps and averaged "
                   "coarse levels.");
  VOXCYCLE_REQUIRE(!options.residual_input || options.channels.begin()->first >= 2,
                   "network: with network.residual_input let network.channels begin with 2 or "
                   "more voxels.");
  std::int64_t coarser = 0;
  for (auto const& [n, channels] : options.channels) {
    VOXCYCLE_REQUIRE(channels > 0, "network: level " << n << " has no channels.");
    VOXCYCLE_REQUIRE(coarser == 0 || n == 2 * coarser,
                     "network: level " << n << " does not double level " << coarser
                                       << ". List every level from the coarsest on.");
    coarser = n;
  }
}

/// @throws Error saying which levels would do: each doubles the one before.
void require_level(NetworkOptions const& options, Grid3 const& grid) {
  auto const n = grid.level();
  auto const& channels = options.channels;
  if (channels.count(n) == 1) return;
  bool const halves = n % (std::int64_t{1} << halvings_to_coarsest(options, grid)) == 0;
  if (halves && block_of(options, n) > 0) return;
  bool const goes_on = halves && is_above_blocks(options, n);
  if (goes_on && options.smoothing > 0) return;
  std::vector<std::string> levels;
  if (goes_on) {
    auto level = channels.rbegin()->first;
    while (level < n) levels.push_back(std::to_string(level *= 2));
  } else {
    auto level = n;
    for (; level >= 8 && level % 2 == 0; level /= 2)
      levels.insert(levels.begin(), std::to_string(level));
    levels.insert(levels.begin(), std::to_string(level));
  }
  throw Error("network: no level for grid " + grid.label() +
              (goes_on ? ". Add " : ". Levels double, so let them be ") + join(levels) +
              (goes_on ? " to network.channels, or have network.smoothing steps there alone."
                       : " in network.channels."));
}

}  // namespace

std::int64_t block_of(NetworkOptions const& options, std::int64_t n) {
  auto const least = options.channels.lower_bound(n);
  return least != options.channels.end() && 2 * n > least->first ? least->first : 0;
}

MultigridNetwork::MultigridNetwork(NetworkOptions const& options,
                                   std::shared_ptr<LevelProblems> problems)
    : Network(std::move(problems)), options_(options) {
  require_blocks(options_);
  std::int64_t child = 0;
  for (auto const& [n, channels] : options_.channels) {
    auto level = std::make_shared<Level>(options_, n, channels, child);
    levels_[n] = module().register_module("level" + std::to_string(n), level);
    child = channels;
  }
  initialise_uniform(module(), options_.seed);
}

MultigridNetwork::~MultigridNetwork() = default;

void MultigridNetwork::require_fits(NetworkOptions const& options, Grid3 const& grid) {
  require_blocks(options);
  require_valid(grid);
  require_level(options, grid);
  std::int64_t const coarsest = options.channels.begin()->first;
  int const halvings = halvings_to_coarsest(options, grid);
  VOXCYCLE_REQUIRE(grid.divisible(halvings), "network: grid "
                                                 << grid.label() << " cannot be halved " << halvings
                                                 << " times down to level " << coarsest
                                                 << ". Every axis must be a multiple of "
                                                 << (1L << halvings) << '.');
}

std::vector<LevelParameters> MultigridNetwork::levels(Grid3 const& grid) const {
  std::vector<LevelParameters> all;
  // The grid's own sizes, which are those of the levels or served by their blocks.
  auto finest = grid.level();
  while (finest > options_.channels.rbegin()->first) finest /= 2;
  auto const block = block_of(options_, finest);
  for (auto const& [n, level] : levels_) {
    if (n > block) break;
    LevelParameters entry{finest / (block / n), {}, {}};
    for (auto const& parameter : level->named_parameters()) {
      entry.parameters.push_back(parameter.value());
      entry.names.push_back("level" + std::to_string(n) + "." + parameter.key());
    }
    all.push_back(std::move(entry));
  }
  return all;
}

void MultigridNetwork::begin_level(std::int64_t level) {
  auto const block = block_of(options_, level);
  auto const here = levels_.find(block), coarser = levels_.find(block / 2);
  if (!options_.residual_input || here == levels_.end() || coarser == levels_.end()) return;
  at::NoGradGuard const no_grad;
  if (here->second->channels() != coarser->second->channels()) return;
  auto const copy = [](auto const& values, auto const& of_coarser) {
    for (auto const& value : values) {  // `down` and `up` may differ, the coarsest has neither
      auto const* const other = of_coarser.find(value.key());
      if (other != nullptr && other->sizes() == value.value().sizes()) value.value().copy_(*other);
    }
  };
  copy(here->second->named_parameters(), coarser->second->named_parameters());
  copy(here->second->named_buffers(), coarser->second->named_buffers());
}

MicroBatches MultigridNetwork::solution(ForwardContext const& context, LevelEquation& equation,
                                        Grid3 const& grid, MicroBatches const& x) {
  if (block_of(options_, grid.level()) > 0) return run_level(context, equation, grid, x, {}).u;
  MicroBatches const coarse =
      solution(context, equation, grid.coarsened(), pooled(context, grid, x));
  return equation.smoothed(grid, equation.prolonged(grid, coarse), x);
}

MultigridNetwork::Output MultigridNetwork::run_level(ForwardContext const& context,
                                                     LevelEquation& equation, Grid3 const& grid,
                                                     MicroBatches const& x,
                                                     MicroBatches const& from_finer) {
  auto& level = *levels_.at(block_of(options_, grid.level()));
  auto const& problem = problems()->at(context, grid);
  ForwardContext const here = pass_on(context, grid);
  MicroBatches h = level.encode(here, own_features(here, x), from_finer);

  MicroBatches u;
  MicroBatches g;
  MicroBatches head;
  if (level.coarsest()) {
    g = std::move(h);
    if (level.head) head = level.head->forward(here, g);
    u = equation.coarsest(grid, x);
  } else {
    bool const gathers = here.in_slabs() && space_on(context, grid.coarsened()).is_whole();
    MicroBatches below = level.down->forward(here, h);
    if (gathers) below = gathered_below(here, below);
    Output coarse = run_level(context, equation, grid.coarsened(), pooled(context, grid, x), below);
    below.clear();
    if (gathers) coarse.g = own_below(here, coarse.g);
    u = equation.prolonged(grid, coarse.u);
    MicroBatches seen;
    if (level.residual)
      seen = as_features(here, own_features(here, residual_input(problem, grid, u, x)));
    std::tie(g, head) = level.decode(here, std::move(h), std::move(coarse.g), std::move(seen));
  }
  if (from_finer.empty()) g.clear();  // nobody asks for them
  auto const smoothed = [&](MicroBatches const& all) {
    return options_.smoothing > 0 ? equation.smoothed(grid, all, x) : all;
  };
  if (head.empty()) return {smoothed(u), g};
  head = own_nodes_to_part(here, head);
  if (options_.subspace > 0) return {equation.corrected(grid, u, head), g};
  double const scale = problem.size * options_.correction_scale / static_cast<double>(grid.level());
  u = each(u, head, [&](at::Tensor const& base, at::Tensor const& correction) {
    return at::addcmul(base, problem.mask, correction.to(base.scalar_type()).contiguous(), scale);
  });
  return {smoothed(u), g};
}

MicroBatches MultigridNetwork::forward(ForwardContext const& context, Grid3 const& grid,
                                       MicroBatches const& x) {
  require_fits(options_, grid);
  context.slabs.require_fits(grid);
  auto const equation =
      equation_of(context, *problems(), grid, x, halvings_to_coarsest(options_, grid) + 1);
  return solution(context, *equation, grid, x);
}

Script MultigridNetwork::script() const {
  bool const nested = options_.coarse == CoarseLevels::black_box;
  std::vector<std::int64_t> levels;
  for (auto const& [n, level] : levels_) levels.push_back(n);
  return {options_.subspace > 0     ? "SubspaceMultigrid"
          : nested                  ? "BlackBoxMultigrid"
          : options_.residual_input ? "ResidualMultigrid"
                                    : "MultigridNetwork",
          {{"levels", levels}, {"smooths", options_.smoothing > 0}}};
}

}  // namespace voxcycle
