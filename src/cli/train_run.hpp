// SPDX-License-Identifier: BSD-3-Clause
// The parts of one training, of which train and an ensemble are composed.
#pragma once

#include "voxcycle/cli/command.hpp"
#include "voxcycle/comm/device_choice.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/train/memory.hpp"
#include "voxcycle/train/trainer.hpp"

#include <string>
#include <vector>

namespace voxcycle {

/// A training, looked at and ready.
struct Training {
  Config config;  ///< its batches do not depend on the processes any more
  TrainOptions options;
  LogOptions log;
  std::vector<MemoryPlan> memory{};  ///< of its stages, after require_sound
};

/// What a config and the command's flags make of a training by the processes of `comm`.
/// **Collective**.
Training training_of(Config const& asked, Invocation const& call, DeviceChoice const& place,
                     Communicator const& comm);

/// What --dry-run prints. **Collective**.
/// @param limits  the config of the training, with the run.memory_limit that holds
std::string dry_run(Training const& training, Config const& limits, DeviceChoice const& place,
                    Communicator const& comm);

/// Plans its memory. **Collective**. @throws Error for a start that is not there, or memory that
/// will not do.
/// @param limits  as for dry_run
void require_sound(Training& training, Config const& limits, DeviceChoice const& place,
                   Communicator const& comm);

/// Trains in the run directory, and prints what came of it. **Collective**.
TrainSummary carry_out(Training training, DeviceChoice const& place, Communicator const& comm);

/// Removes what a later start without --fresh would take for the new run's.
void forget_run(std::string const& directory);

/// What trains, for people: "2 processes of 1 thread".
std::string resources_text(TrainOptions const& options, Communicator const& comm);

}  // namespace voxcycle
