// SPDX-License-Identifier: BSD-3-Clause
// Which samples a data set has, and whether their shards are there.
#pragma once

#include "voxcycle/dataset/sample_source.hpp"
#include "voxcycle/field/family.hpp"
#include "voxcycle/field/source.hpp"
#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/poisson/boundary.hpp"
#include "voxcycle/solver/solve_method.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace voxcycle {

/// A data set: samples of a coefficient family for training and held-out ones with reference
/// solutions, on several grids.
struct DatasetOptions {
  std::string directory = "data/run";  ///< of the shards: <split>/<grid>/shard-*.h5
  FamilyOptions family{};
  Boundary boundary{};
  Source source{};
  std::vector<Grid3> grids{};  ///< of the levels, coarsest first; one may stand twice
  std::uint64_t seed = 1;      ///< of the samples
  /// Numbers of samples: one, or one per level.
  std::vector<std::int64_t> train_samples{1024}, held_out_samples{32};
  std::vector<std::int64_t> shard_samples{512};  ///< in a shard, at most; likewise
  bool on_the_fly = false;        ///< training samples are made while training: they have no shards
  bool train_references = false;  ///< whether training samples have reference solutions, too
  SolveMethod reference = SolveMethod::multigrid;  ///< solver of reference solutions
  double reference_tolerance = 1e-10;              ///< relative residual of reference solutions

  bool operator==(DatasetOptions const&) const = default;
};

/// Samples of a split on a grid. @throws Error if the data set has no such grid.
std::int64_t sample_count(DatasetOptions const& options, std::string const& split,
                          Grid3 const& grid);
/// What the equation alone says of the samples of a split and grid.
ShardInfo problem_info(DatasetOptions const& options, std::string const& split, Grid3 const& grid);
/// What the samples of a split and grid say of themselves, as one set. Seeds of training and
/// held-out samples never coincide.
ShardInfo sample_info(DatasetOptions const& options, CoefficientFamily const& family,
                      std::string const& split, Grid3 const& grid);
/// Index in the family of the first sample of a split: 0, but of a family of finitely many samples
/// the last data.held_out_samples are held out. @throws Error if it has too few.
std::int64_t split_origin(DatasetOptions const& options, CoefficientFamily const& family,
                          std::string const& split);
/// Training samples of a grid, made when asked for.
std::unique_ptr<SampleSource> fresh_samples(DatasetOptions const& options, Grid3 const& grid);
/// The first of grid, split, family, seed, boundary, source, references, samples in which two sets
/// differ, for people; "" if there is none. Tolerances of references do not count.
std::string difference(ShardInfo const& there, ShardInfo const& wanted);
/// @throws Error unless the shards of this split and grid are there, whole, and of this data set.
/// Reads their attributes only.
void require_shards(DatasetOptions const& options, std::string const& split, Grid3 const& grid);
/// The same for all that a training on these grids reads.
void require_training_shards(DatasetOptions const& options, std::vector<Grid3> const& grids);
/// What tells a training's shards from those of other data: ShardSet::contents of all that it
/// reads, as hexadecimal digits; nothing if some are not there, or not whole.
std::optional<std::string> contents_of(DatasetOptions const& options,
                                       std::vector<Grid3> const& grids);

}  // namespace voxcycle
