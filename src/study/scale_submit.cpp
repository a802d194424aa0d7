// SPDX-License-Identifier: BSD-3-Clause
#include "study/scale_submit.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/study/child_process.hpp"

namespace voxcycle {

std::string submit_scale(std::string const& directory, std::int64_t processes,
                         std::vector<std::string> const& arguments) {
  auto const said = directory + "/sbatch.log";
  std::vector<std::string> command{"env", "sbatch", "--parsable",
                                   "--ntasks=" + std::to_string(processes), "slurm/scale.sbatch"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  int const status = ChildProcess(command, said).wait();
  VOXCYCLE_REQUIRE(status == 0,
                   "--submit: sbatch failed. Call scale in the project's directory, on a machine "
                   "that submits jobs to Slurm. sbatch says:\n"
                       << last_lines(said));
  auto const lines = last_lines(said, 1);  // warnings come first
  return lines.substr(0, lines.find_first_of(";\n"));
}

}  // namespace voxcycle
