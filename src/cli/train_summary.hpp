// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/train_run.hpp"

namespace voxcycle {

/// What a training will do, on what machines and with what data, before its first step.
struct TrainingOutline {
  std::vector<std::pair<std::string, std::string>> lines;  ///< name, text
  std::vector<std::string> warnings;
};

/// @param training  after require_sound
/// @return empty on ranks other than 0. **Collective**.
TrainingOutline outline_training(Training const& training, DeviceChoice const& place,
                                 Communicator const& comm);
/// As a table for TensorBoard.
std::string to_markdown(TrainingOutline const& outline);

/// One stage: budget, batch, rates, memory, and its time if `step_seconds` is not 0 or seconds
/// alone limit it.
/// @param processes  of the run
/// @param samples    training samples of its grid
std::string stage_line(TrainOptions const& options, Stage const& stage, int processes,
                       std::int64_t samples, std::int64_t memory, double step_seconds);
/// Mean seconds of a step at each level of the path, by its number in the config, where the rows of
/// a run that goes on tell; the last stage there counts.
std::map<int, double> measured_step_seconds(std::vector<MetricRow> const& rows,
                                            LevelPath const& path);
/// The same of the run that goes on in the directory.
std::map<int, double> measured_step_seconds(TrainOptions const& options);
/// Sentences on levels whose batches have fewer micro-batches than there are processes for them.
std::vector<std::string> starved_levels(TrainOptions const& options, int processes);
/// What a run directory grows to, about. @param steps  of all stages, as far as they are known
double disk_bytes(TrainOptions const& options, std::int64_t parameters, double steps);

}  // namespace voxcycle
