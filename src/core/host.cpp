// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/host.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>

#include <sys/prctl.h>
#include <unistd.h>

namespace voxcycle {

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

bool has_launcher() {
  // Open MPI's mpirun, PMIx (srun --mpi=pmix) and PMI launchers.
  constexpr std::array<char const*, 3> identities{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"};
  return std::any_of(identities.begin(), identities.end(),
                     [](char const* name) { return std::getenv(name) != nullptr; });
}

void stop_with_parent() {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
}

}  // namespace voxcycle
