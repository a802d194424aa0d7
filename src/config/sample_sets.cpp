// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/config/sample_sets.hpp"

#include "voxcycle/config/options.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/random.hpp"
#include "voxcycle/io/shard.hpp"

#include <algorithm>
#include <set>

namespace voxcycle {
namespace {

std::vector<std::int64_t> counts(Config const& config, std::string const& split) {
  auto const levels = level_grids(config).size();
  return config.integers_a_level("data." + split + "_samples", levels, 1);
}

}  // namespace

bool made_on_the_fly(Config const& config) {
  return yes_or_no(config, "data.on_the_fly");
}

std::int64_t sample_count(Config const& config, std::string const& split, Grid3 const& grid) {
  auto const grids = level_grids(config);
  auto const samples = counts(config, split);
  std::int64_t count = 0;
  for (std::size_t level = 0; level < grids.size(); ++level) {
    if (grids[level] != grid) continue;
    VOXCYCLE_REQUIRE(count == 0 || count == samples[level],
                     "data." << split << "_samples differ for a grid that stands twice in "
                             << "cycle.levels. Give it one number.");
    count = samples[level];
  }
  VOXCYCLE_REQUIRE(count > 0, "cycle.levels has no " << grid.label() << ". Add it.");
  return count;
}

ShardInfo problem_info(Config const& config, std::string const& split, Grid3 const& grid) {
  auto const source = source_of(config);
  ShardInfo info;
  info.split = split;
  info.grid = grid;
  info.boundary = to_string(boundary_of(config));
  info.source = to_string(source);
  info.has_source = source.kind == SourceKind::sampled;
  info.has_reference = split == "held_out" || yes_or_no(config, "data.train_references");
  if (info.has_reference) {
    info.reference_tolerance = config.real("data.reference_tolerance", 1e-13, 1e-2);
  }
  return info;
}

ShardInfo sample_info(Config const& config, CoefficientFamily const& family,
                      std::string const& split, Grid3 const& grid) {
  auto const seed = static_cast<std::uint64_t>(config.integer("data.seed"));
  ShardInfo info = problem_info(config, split, grid);
  info.family = family.signature();
  info.parameters = family.parameter_count();
  info.seed = split == "train" ? seed : hash_bits({seed, 0x68656c64U});
  info.samples = sample_count(config, split, grid);
  return info;
}

std::int64_t split_origin(Config const& config, CoefficientFamily const& family,
                          std::string const& split) {
  auto const count = family.sample_count();
  if (!count) return 0;
  auto const train = counts(config, "train"), held_out = counts(config, "held_out");
  auto const maximum = *std::max_element(train.begin(), train.end());
  auto const kept = *std::max_element(held_out.begin(), held_out.end());
  VOXCYCLE_REQUIRE(maximum <= *count - kept,
                   "data.train_samples = " << maximum << " and data.held_out_samples = " << kept
                                           << " ask for more than the " << *count << " samples of "
                                           << family.signature() << ". Lower one of them.");
  return split == "train" ? 0 : *count - kept;
}

std::unique_ptr<SampleSource> fresh_samples(Config const& config, Grid3 const& grid) {
  auto family = make_family(family_options(config));
  auto const info = sample_info(config, *family, "train", grid);
  auto const origin = split_origin(config, *family, "train");
  return fresh_samples(std::move(family), info, origin);
}

std::string difference(ShardInfo const& there, ShardInfo const& wanted) {
  auto const yes_no = [](bool yes) { return std::string(yes ? "yes" : "no"); };
  struct Fact {
    char const* name;
    std::string there, wanted;
  };
  for (auto const& fact : std::vector<Fact>{
           {"grid", there.grid.name(), wanted.grid.name()},
           {"split", there.split, wanted.split},
           {"family", there.family, wanted.family},
           {"seed", std::to_string(there.seed), std::to_string(wanted.seed)},
           {"boundary", there.boundary, wanted.boundary},
           {"source", there.source, wanted.source},
           {"references", yes_no(there.has_reference), yes_no(wanted.has_reference)},
           {"first sample", std::to_string(there.first_index), std::to_string(wanted.first_index)},
           {"number of samples", std::to_string(there.samples), std::to_string(wanted.samples)}}) {
    if (fact.there == fact.wanted) continue;
    return std::string(fact.name) + ' ' + fact.there + " there, " + fact.wanted + " in the config";
  }
  return {};
}

void require_shards(Config const& config, std::string const& split, Grid3 const& grid) {
  std::string const directory = shard_directory(config.text("data.directory"), split, grid);
  ShardSet const shards(directory);
  auto const& found = shards.info();
  auto const wanted = sample_info(config, *make_family(family_options(config)), split, grid);
  ShardInfo whole = found;  // one shard's place in the set does not count, nor what nobody reads
  whole.first_index = wanted.first_index;
  whole.samples = shards.samples();
  whole.has_reference = found.has_reference && wanted.has_reference;
  auto const differing = difference(whole, wanted);
  VOXCYCLE_REQUIRE(differing.empty(),
                   directory << ": its shards are of another data set (" << differing
                             << "). Choose another data.directory and run voxcycle generate.");
  if (wanted.has_reference) {
    VOXCYCLE_REQUIRE(found.reference_tolerance <= wanted.reference_tolerance,
                     directory << ": its references were solved to " << found.reference_tolerance
                               << ", but data.reference_tolerance is " << wanted.reference_tolerance
                               << ". Run voxcycle generate, which makes them anew, or raise "
                                  "data.reference_tolerance.");
  }
}

namespace {

/// Where training takes its samples from a finite family itself, those held out must still be its
/// last.
void require_last_held_out(Config const& config, Grid3 const& grid) {
  auto const family = make_family(family_options(config));
  auto const count = family->sample_count();
  if (!count) return;
  auto const directory = shard_directory(config.text("data.directory"), "held_out", grid);
  ShardSet shards(directory);
  auto const first = split_origin(config, *family, "held_out");
  auto const info = sample_info(config, *family, "held_out", grid);
  for (std::int64_t const k : {std::int64_t{0}, shards.samples() - 1}) {
    auto const there = shards.read(k, ReadReference::no);
    auto const now = make_sample(*family, info, first, k);
    VOXCYCLE_REQUIRE(
        there.omega == now.omega && there.nu == now.nu,
        directory << ": its sample " << k << " is not number " << first + k << " of "
                  << family->signature() << ", which has " << *count
                  << " now and of which those from " << first
                  << " on are to be held out. Choose another data.directory and run voxcycle "
                     "generate.");
  }
}

}  // namespace

void require_training_shards(Config const& config, TrainOptions const& options) {
  bool const fresh = made_on_the_fly(config);
  for (int level : std::set<int>(options.path.begin(), options.path.end())) {
    auto const& grid = options.levels[static_cast<std::size_t>(level)].grid;
    if (!fresh) require_shards(config, "train", grid);
    require_shards(config, "held_out", grid);
    if (fresh) require_last_held_out(config, grid);
  }
}

}  // namespace voxcycle
