// SPDX-License-Identifier: BSD-3-Clause
// From the configuration to the options of the modules.
#pragma once

#include "voxcycle/cli/config.hpp"
#include "voxcycle/field/family.hpp"
#include "voxcycle/field/source.hpp"
#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/poisson/boundary.hpp"
#include "voxcycle/train/trainer.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace voxcycle {

/// Processes of this job on this machine, as Open MPI and Slurm tell.
int local_processes();
/// Sets the number of threads of this process: run.threads, else OMP_NUM_THREADS, else the cores
/// shared out to the processes of this machine.
void set_threads(Config const& config);

FamilyOptions family_options(Config const& config);
Boundary boundary_of(Config const& config);
/// @throws Error also for a source that has no solution, with zero flux on all faces.
Source source_of(Config const& config);
/// Grids of the levels, coarsest first. @throws Error unless they grow.
std::vector<Grid3> level_grids(Config const& config);
/// Whether samples of this split have reference solutions.
bool has_references(Config const& config, std::string const& split);
NetworkOptions network_options(Config const& config);
TrainOptions train_options(Config const& config);
/// "bf16", "f32" or "f64": of convolutions and activations. @throws Error listing them.
at::ScalarType parse_precision(std::string const& name, std::string const& text);
/// Seed of the samples of a split: training and held-out samples never coincide.
std::uint64_t split_seed(Config const& config, std::string const& split);
/// Index in the family of the first sample of a split: 0, but of a family of finitely many samples
/// the last data.held_out_samples are held out. @throws Error if it has too few.
std::int64_t split_origin(Config const& config, CoefficientFamily const& family,
                          std::string const& split);
/// @throws Error unless the shards of this split and grid are there, whole, and what this config
/// generates. Reads their attributes only.
void require_shards(Config const& config, std::string const& split, Grid3 const& grid);

}  // namespace voxcycle
