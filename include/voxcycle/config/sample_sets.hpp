// SPDX-License-Identifier: BSD-3-Clause
// Which samples a config asks for, and whether they are there.
#pragma once

#include "voxcycle/config/config.hpp"
#include "voxcycle/dataset/sample_source.hpp"
#include "voxcycle/field/family.hpp"
#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/train/trainer.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace voxcycle {

/// Whether training samples are made while training; generate then makes only held-out ones.
bool made_on_the_fly(Config const& config);
/// Samples of a split on a grid. @throws Error if the config has no such grid.
std::int64_t sample_count(Config const& config, std::string const& split, Grid3 const& grid);
/// What the equation alone says of the samples of a split and grid.
ShardInfo problem_info(Config const& config, std::string const& split, Grid3 const& grid);
/// What the samples of a split and grid say of themselves, as one set. Seeds of training and
/// held-out samples never coincide.
ShardInfo sample_info(Config const& config, CoefficientFamily const& family,
                      std::string const& split, Grid3 const& grid);
/// Index in the family of the first sample of a split: 0, but of a family of finitely many samples
/// the last data.held_out_samples are held out. @throws Error if it has too few.
std::int64_t split_origin(Config const& config, CoefficientFamily const& family,
                          std::string const& split);
/// Training samples of a grid, made when asked for.
std::unique_ptr<SampleSource> fresh_samples(Config const& config, Grid3 const& grid);
/// The first of grid, split, family, seed, boundary, source, references, samples in which two sets
/// differ, for people; "" if there is none. Tolerances of references do not count.
std::string difference(ShardInfo const& there, ShardInfo const& wanted);
/// @throws Error unless the shards of this split and grid are there, whole, and what this config
/// generates. Reads their attributes only.
void require_shards(Config const& config, std::string const& split, Grid3 const& grid);
/// The same for all that a training along options.path reads.
void require_training_shards(Config const& config, TrainOptions const& options);

}  // namespace voxcycle
