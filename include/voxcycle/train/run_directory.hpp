// SPDX-License-Identifier: BSD-3-Clause
// The files of a run.
#pragma once

#include "voxcycle/train/checkpoint.hpp"
#include "voxcycle/train/trainer.hpp"

#include <string>

namespace voxcycle {

/// <directory>/checkpoint.h5
std::string checkpoint_path(std::string const& directory);
/// The checkpoint that `path` names: of a run directory its own, else `path` itself.
std::string checkpoint_at(std::string const& path);
/// <directory>/best.h5: averaged weights of the least held-out energy gap at the finest grid.
std::string best_path(std::string const& directory);
/// <directory>/stages/01.h5 for stage 0, see TrainOptions::keep_stages.
std::string stage_path(std::string const& directory, int stage);

/// Whether the options' directory holds a run to go on with.
bool resumes(TrainOptions const& options);
/// Whether the options' directory holds a run that ended, to be taken up: nothing is left to train.
bool holds_finished_run(TrainOptions const& options);
/// @throws Error naming the first key in which the directory's run, whose header is given, and this
/// one differ.
void require_same_run(TrainOptions const& options, CheckpointHeader const& there);
/// @throws Error unless TrainOptions::start is empty or holds a finished run.
void require_start(TrainOptions const& options);

}  // namespace voxcycle
