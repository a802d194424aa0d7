// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace voxcycle {

/// Submits slurm/scale.sbatch, which calls scale for the job's number of processes.
/// @param directory  of the study, which keeps what sbatch said
/// @param arguments  of the script: config and options of scale
/// @return the job's number. @throws Error with sbatch's own text.
std::string submit_scale(std::string const& directory, std::int64_t processes,
                         std::vector<std::string> const& arguments);

}  // namespace voxcycle
