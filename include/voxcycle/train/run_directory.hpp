// SPDX-License-Identifier: BSD-3-Clause
// The files of a run.
#pragma once

#include "voxcycle/train/checkpoint.hpp"
#include "voxcycle/train/trainer.hpp"

#include <string>

namespace voxcycle {

/// <directory>/checkpoint.h5
std::string checkpoint_path(std::string const& directory);
/// <directory>/checkpoint-1.h5 for the one before (age 1), and so on.
std::string older_checkpoint_path(std::string const& directory, int age);
/// The checkpoint that `path` names: of a run directory its own, else `path` itself.
std::string checkpoint_at(std::string const& path);
/// <directory>/best.h5: averaged weights of the least held-out energy gap at the finest grid.
std::string best_path(std::string const& directory);
/// <directory>/stages/01.h5 for stage 0, see TrainOptions::keep_stages.
std::string stage_path(std::string const& directory, int stage);

/// Makes room for a new checkpoint: the newest becomes checkpoint-1.h5, until there are `keep` with
/// the new one; older ones go. There is a newest at any moment.
void shift_checkpoints(std::string const& directory, int keep);
/// Reads all of the newest checkpoint, if there is one. If it is damaged and an older one is not,
/// that takes its place, the damaged one is set aside as damaged-1.h5 (or the next number), and a
/// warning says so. @throws Error if all are damaged.
void use_sound_checkpoint(std::string const& directory);
/// Of the newest checkpoint that can be opened. @throws Error of the newest if none can.
CheckpointHeader readable_header(std::string const& directory);

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
