// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/io/shard.hpp"

#include "cli/options.hpp"

namespace voxcycle {
namespace {

std::int64_t sample_count(Config const& config, std::string const& split, Grid3 const& grid) {
  if (split == "held_out") return config.integer("data.held_out_samples", 1);
  auto const grids = level_grids(config);
  auto const samples = config.integers_a_level("data.train_samples", grids.size(), 1);
  for (std::size_t level = 0; level < grids.size(); ++level) {
    if (grids[level] == grid) return samples[level];
  }
  throw Error("cycle.levels has no " + grid.label() + ". Add it.");
}

}  // namespace

void require_shards(Config const& config, std::string const& split, Grid3 const& grid) {
  std::string const directory = shard_directory(config.text("data.directory"), split, grid);
  ShardSet const shards(directory);
  auto const& found = shards.info();
  auto const require_same = [&](char const* what, std::string const& there,
                                std::string const& now) {
    VOXCYCLE_REQUIRE(there == now, directory << ": its shards are of another data set (" << what
                                             << ' ' << there << " there, " << now
                                             << " in the config). Choose another data.directory "
                                                "and run voxcycle generate.");
  };
  require_same("grid", found.grid.name(), grid.name());
  require_same("split", found.split, split);
  require_same("family", found.family, make_family(family_options(config))->signature());
  require_same("seed", std::to_string(found.seed), std::to_string(split_seed(config, split)));
  require_same("boundary", found.boundary, to_string(boundary_of(config)));
  require_same("source", found.source, to_string(source_of(config)));
  if (has_references(config, split)) {
    require_same("references", found.has_reference ? "yes" : "no", "yes");
  }
  require_same("number of samples", std::to_string(shards.samples()),
               std::to_string(sample_count(config, split, grid)));
}

}  // namespace voxcycle
