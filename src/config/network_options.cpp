// SPDX-License-Identifier: BSD-3-Clause
// The options of a network, and what `auto` stands for among them.
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/nested_equation.hpp"

#include <algorithm>
#include <string>

#include "config/choices.hpp"

namespace voxcycle {
namespace {

/// What NestedEquation would refuse in the middle of a run, and what to do; nothing: it can be had.
std::string obstacle_to_nesting(NetworkOptions const& options) {
  if (options.name != "multigrid") {
    return "is for network.name = multigrid, not '" + options.name +
           "'. Set network.coarse = averaged.";
  }
  if (options.smoothing == 0) return "needs smoothing steps: set network.smoothing to 1 or more.";
  constexpr auto max_voxels = NestedEquation::max_voxels;
  if (options.channels.empty() || options.channels.begin()->first <= max_voxels) return "";
  return "solves the coarsest level directly: let network.channels begin with a level of at most " +
         std::to_string(max_voxels) + " voxels, not " +
         std::to_string(options.channels.begin()->first) + '.';
}

CoarseLevels coarse_levels(Config const& config, NetworkOptions const& options) {
  enum class Choice { automatic, averaged, black_box };
  auto const choice = choose<Choice>(config, "network.coarse",
                                     {{"auto", Choice::automatic},
                                      {"averaged", Choice::averaged},
                                      {"black_box", Choice::black_box}});
  auto const obstacle = obstacle_to_nesting(options);
  VOXCYCLE_REQUIRE(choice != Choice::black_box || obstacle.empty(),
                   "network.coarse = black_box " << obstacle);
  return choice == Choice::averaged || !obstacle.empty() ? CoarseLevels::averaged
                                                         : CoarseLevels::black_box;
}

/// The subspace corrects what is interpolated; the coarsest level is solved directly.
std::int64_t subspace(Config const& config, NetworkOptions const& options) {
  auto const count = config.integer("network.subspace", 0, 16);
  if (count == 0) return 0;
  VOXCYCLE_REQUIRE(options.coarse == CoarseLevels::black_box,
                   "network.subspace = " << count
                                         << " needs the nested levels of network.coarse "
                                            "= black_box. Set network.subspace = 0.");
  auto const coarsest = options.channels.begin()->first;
  auto const& visited = options.cycle_levels;
  VOXCYCLE_REQUIRE(std::none_of(visited.begin(), visited.end(),
                                [&](auto n) { return block_of(options, n) == coarsest; }),
                   "cycle.levels: with network.subspace the coarsest level, "
                       << coarsest << ", is solved directly and has nothing to learn. Begin with "
                       << 2 * coarsest << ", or add a coarser level to network.channels.");
  return count;
}

/// Nested levels leave little to correct: what averaged ones need, 4, drives such a network away in
/// its first steps on fine grids.
double correction_scale(Config const& config, CoarseLevels coarse) {
  if (config.text("network.correction_scale") == "auto")
    return coarse == CoarseLevels::black_box ? NetworkOptions{}.correction_scale : 4.0;
  try {
    return config.real("network.correction_scale", 1e-6, 1e6);
  } catch (Error const& problem) {
    throw Error(std::string(problem.what()) + " Or let it be auto.");
  }
}

bool residual_input(Config const& config, NetworkOptions const& options) {
  if (!yes_or_no(config, "network.residual_input")) return false;
  VOXCYCLE_REQUIRE(options.name == "multigrid" && options.smoothing == 0,
                   "network.residual_input = yes is for network.name = multigrid with "
                   "network.smoothing = 0: smoothing steps see the residual themselves. Set it to "
                   "no, or choose these.");
  return true;
}

Adaptation adaptation(Config const& config) {
  VOXCYCLE_REQUIRE(config.text("network.adaptation") != "yes",
                   "network.adaptation = yes is gone: layers of each level around shared weights "
                   "learned less than a U-Net that is deepened. Set network.name = published and "
                   "network.adaptation = deepen, or no.");
  return choose(config, "network.adaptation", kAdaptations);
}

/// A sigmoid's values lie between the boundary's.
void require_bounded_solution(Config const& config, NetworkOptions const& options) {
  if (options.name != "published") return;
  VOXCYCLE_REQUIRE(source_of(config).is_zero() && boundary_of(config).has_different_values(),
                   "network.name = published is for solutions between two Dirichlet values, which "
                   "its sigmoid keeps to. Set problem.source = 0 and two different values in "
                   "problem.boundary, or choose another network.");
}

}  // namespace

NetworkOptions network_options(Config const& config) {
  auto cycle_levels = config.integers("cycle.levels", 1, kMaxLevel);
  cycle_levels.erase(std::unique(cycle_levels.begin(), cycle_levels.end()), cycle_levels.end());
  NetworkOptions options{.name = config.text("network.name"),
                         .inputs = source_of(config).varies() ? 2 : 1,
                         .channels = config.integer_map("network.channels"),
                         .norm = parse_norm(config.text("network.norm")),
                         .smoothing = static_cast<int>(config.integer("network.smoothing", 0, 16)),
                         .seed = static_cast<std::uint64_t>(config.integer("run.seed")),
                         .depth = config.integer("network.depth", 1, 16),
                         .base_channels = config.integer("network.base_channels", 1, 4096),
                         .adaptation = adaptation(config),
                         .cycle_levels = cycle_levels};
  require_bounded_solution(config, options);
  options.coarse = coarse_levels(config, options);
  options.subspace = subspace(config, options);
  options.correction_scale = correction_scale(config, options.coarse);
  options.residual_input = residual_input(config, options);
  return options;
}

Config settled(Config config) {
  auto const options = network_options(config);
  auto const settle = [&](std::string const& name, std::string const& value) {
    if (config.text(name) == "auto") config.set(name, value);
  };
  settle("network.coarse", options.coarse == CoarseLevels::black_box ? "black_box" : "averaged");
  settle("network.correction_scale", format("%g", options.correction_scale));
  // A file by what it holds, wherever it lies.
  if (auto const source = source_of(config); source.kind == SourceKind::file) {
    config.set("problem.source", to_string(source));
  }
  settle("run.spatial_parts", std::to_string(slabs_of(config).count));
  bool const is_one = config.integer("run.spatial_parts", 1) == 1;  // which is cut nowhere
  if (is_one) config.set("run.spatial_above", Config().text("run.spatial_above"));
  return config;
}

}  // namespace voxcycle
