// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/launcher.hpp"

#include "voxcycle/core/host.hpp"
#include "voxcycle/core/text.hpp"

#include <cstdlib>

namespace voxcycle {
namespace {

/// The number that a launcher left in the environment; nothing where there is none.
std::optional<std::int64_t> number_of(char const* variable) {
  char const* const text = std::getenv(variable);
  return text != nullptr ? parse_number<std::int64_t>(text) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> launched_processes() {
  // Of Open MPI's mpirun, PMI launchers, and srun, which with PMIx leaves no other.
  for (char const* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    if (auto const count = number_of(name)) return count;
  }
  return {};
}

std::optional<Strangers> strangers() {
  if (has_launcher()) return {};
  auto const rank = number_of("RANK"), world = number_of("WORLD_SIZE");
  bool const by_torchrun = rank && world > 1 && std::getenv("LOCAL_RANK") != nullptr &&
                           std::getenv("MASTER_ADDR") != nullptr;
  if (by_torchrun) return Strangers{"torchrun", *world, *rank == 0};
  // Not SLURM_NTASKS, which the one process of a batch script has, too.
  auto const task = number_of("SLURM_PROCID"), tasks = number_of("SLURM_STEP_NUM_TASKS");
  if (task && tasks > 1) return Strangers{"srun", *tasks, *task == 0};
  return {};
}

}  // namespace voxcycle
