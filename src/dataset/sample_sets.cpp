// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/dataset/sample_sets.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/per_level.hpp"
#include "voxcycle/core/random.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/io/shard.hpp"

#include <algorithm>

namespace voxcycle {
namespace {

std::vector<std::int64_t> counts(DatasetOptions const& options, std::string const& split) {
  auto const& samples = split == "train" ? options.train_samples : options.held_out_samples;
  return one_per_level("data." + split + "_samples", samples, options.grids.size());
}

}  // namespace

std::int64_t sample_count(DatasetOptions const& options, std::string const& split,
                          Grid3 const& grid) {
  auto const& grids = options.grids;
  auto const samples = counts(options, split);
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

ShardInfo problem_info(DatasetOptions const& options, std::string const& split, Grid3 const& grid) {
  ShardInfo info;
  info.split = split;
  info.grid = grid;
  info.boundary = to_string(options.boundary);
  info.source = to_string(options.source);
  info.has_source = options.source.varies();
  info.has_reference = split == "held_out" || options.train_references;
  if (info.has_reference) {
    info.reference_solver = to_string(options.reference);
    info.reference_tolerance = options.reference_tolerance;
  }
  return info;
}

ShardInfo sample_info(DatasetOptions const& options, CoefficientFamily const& family,
                      std::string const& split, Grid3 const& grid) {
  ShardInfo info = problem_info(options, split, grid);
  info.family = family.signature();
  info.parameters = family.parameter_count();
  info.seed = split == "train" ? options.seed : hash_bits({options.seed, 0x68656c64U});
  info.samples = sample_count(options, split, grid);
  return info;
}

std::int64_t split_origin(DatasetOptions const& options, CoefficientFamily const& family,
                          std::string const& split) {
  auto const count = family.sample_count();
  if (!count) return 0;
  auto const train = counts(options, "train"), held_out = counts(options, "held_out");
  auto const maximum = *std::max_element(train.begin(), train.end());
  auto const kept = *std::max_element(held_out.begin(), held_out.end());
  VOXCYCLE_REQUIRE(maximum <= *count - kept,
                   "data.train_samples = " << maximum << " and data.held_out_samples = " << kept
                                           << " ask for more than the " << *count << " samples of "
                                           << family.signature() << ". Lower one of them.");
  return split == "train" ? 0 : *count - kept;
}

std::unique_ptr<SampleSource> fresh_samples(DatasetOptions const& options, Grid3 const& grid) {
  auto family = make_family(options.family);
  auto const info = sample_info(options, *family, "train", grid);
  auto const origin = split_origin(options, *family, "train");
  return fresh_samples(std::move(family), options.source, info, origin);
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

namespace {

/// The first and the last sample of a split: a user's arrays may have been replaced or lie
/// elsewhere now, and those held out must still be the last ones.
void require_same_arrays(DatasetOptions const& options, CoefficientFamily const& family,
                         ShardInfo const& info, ShardSet& shards, std::string const& directory) {
  auto const count = family.sample_count();
  if (!count) return;
  auto const first = split_origin(options, family, info.split);
  for (std::int64_t const k : {std::int64_t{0}, shards.samples() - 1}) {
    auto const there = shards.read(k, ReadReference::no);
    auto const now = make_coefficient(family, info, first, k);
    VOXCYCLE_REQUIRE(there.omega == now.omega && there.nu == now.nu,
                     directory << ": its sample " << k << " is not number " << first + k << " of "
                               << family.signature() << ", which has " << *count
                               << " now and of which those from " << first << " on are to be "
                               << (info.split == "train" ? "trained on" : "held out")
                               << ". Choose another data.directory and run voxcycle generate.");
  }
}

}  // namespace

void require_shards(DatasetOptions const& options, std::string const& split, Grid3 const& grid) {
  std::string const directory = shard_directory(options.directory, split, grid);
  ShardSet shards(directory);
  auto const& found = shards.info();
  auto const family = make_family(options.family);
  auto const wanted = sample_info(options, *family, split, grid);
  ShardInfo whole = found;  // one shard's place in the set does not count, nor what nobody reads
  whole.first_index = wanted.first_index;
  whole.samples = shards.samples();
  whole.has_reference = found.has_reference && wanted.has_reference;
  if (family->may_have(found.family)) whole.family = wanted.family;
  auto const differing = difference(whole, wanted);
  VOXCYCLE_REQUIRE(differing.empty(),
                   directory << ": its shards are of another data set (" << differing
                             << "). Choose another data.directory and run voxcycle generate.");
  if (found.family != wanted.family || options.on_the_fly) {
    require_same_arrays(options, *family, wanted, shards, directory);
  }
  if (wanted.has_reference) {
    VOXCYCLE_REQUIRE(found.reference_tolerance <= wanted.reference_tolerance,
                     directory << ": its references were solved to " << found.reference_tolerance
                               << ", but data.reference_tolerance is " << wanted.reference_tolerance
                               << ". Run voxcycle generate, which makes them anew, or raise "
                                  "data.reference_tolerance.");
  }
}

void require_training_shards(DatasetOptions const& options, std::vector<Grid3> const& grids) {
  for (auto const& grid : grids) {
    if (!options.on_the_fly) require_shards(options, "train", grid);
    require_shards(options, "held_out", grid);
  }
}

std::optional<std::string> contents_of(DatasetOptions const& options,
                                       std::vector<Grid3> const& grids) {
  std::uint32_t sum = 0;
  try {
    for (auto const& grid : grids) {
      for (std::string const split : {"train", "held_out"}) {
        if (split == "train" && options.on_the_fly) continue;
        sum = ShardSet(shard_directory(options.directory, split, grid)).contents(sum);
      }
    }
  } catch (Error const&) {
    return std::nullopt;  // require_training_shards says why
  }
  return format("%08x", sum);
}

}  // namespace voxcycle
