// SPDX-License-Identifier: BSD-3-Clause
// From the configuration to the options of the modules.
#pragma once

#include "voxcycle/comm/device_choice.hpp"
#include "voxcycle/config/config.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/dataset/sample_sets.hpp"
#include "voxcycle/field/family.hpp"
#include "voxcycle/field/source.hpp"
#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/poisson/boundary.hpp"
#include "voxcycle/train/trainer.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace voxcycle {

/// What starts several processes unless the user says otherwise; {} stands for their number.
constexpr char const* kLauncher = "mpirun -n {} --oversubscribe --bind-to none";

/// The value of a key that must be one of `names`. @throws Error listing them.
std::string one_of(Config const& config, std::string const& name,
                   std::vector<std::string> const& names);
/// @throws Error unless the key is "yes" or "no".
bool yes_or_no(Config const& config, std::string const& name);

/// Of train.
LogOptions log_options(Config const& config);
/// What train asks of a device. @param dtype  of convolutions, if not train.precision
DeviceOptions device_options(Config const& config, std::optional<at::ScalarType> dtype = {});
FamilyOptions family_options(Config const& config);
/// The samples that the config asks for. @throws Error also for a problem without solution.
DatasetOptions dataset_options(Config const& config);
/// How processes share out samples: run.spatial_processes, .spatial_above and .spatial_parts.
Slabs slabs_of(Config const& config);
Boundary boundary_of(Config const& config);
/// @throws Error also for a source that has no solution, with zero flux on all faces.
Source source_of(Config const& config);
/// Voxels along the longest edge, at most; counts of voxels stay far from 2^63.
constexpr std::int64_t kMaxLevel = std::int64_t{1} << 16;
/// The grid of problem.box with n voxels along its longest edge. @throws Error if it has none.
Grid3 level_grid(Config const& config, std::int64_t n);
/// Grids of the levels, coarsest first. @throws Error unless they grow.
std::vector<Grid3> level_grids(Config const& config);
NetworkOptions network_options(Config const& config);
/// With what `auto` stands for in the keys of the network, so that it always means this one.
Config settled(Config config);
/// With cycle.batch_is = global and the batches that this many processes work on together: what a
/// run's result depends on, whichever way they were given.
Config with_global_batches(Config config, std::int64_t processes);
TrainOptions train_options(Config const& config);
/// Grids that its path visits, each once, coarsest first.
std::vector<Grid3> grids_of(TrainOptions const& options);
/// "bf16", "f16", "f32" or "f64": of convolutions and activations. @throws Error listing them.
at::ScalarType parse_precision(std::string const& name, std::string const& text);

}  // namespace voxcycle
