// SPDX-License-Identifier: BSD-3-Clause
// The runs of a study: trained, and read from their directories.
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/study/ablate_plan.hpp"
#include "voxcycle/study/study.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace voxcycle {

enum class RunProgress {
  not_begun,
  unfinished,  ///< has a checkpoint to go on from
  finished,    ///< has its DONE file
  foreign,     ///< the directory holds a run of another config
};

std::string to_string(RunProgress state);

/// The file that takes what the run's process prints.
std::string output_of(PlannedRun const& run);
/// The file of a finished run; its line tells processes and threads.
std::string done_path(PlannedRun const& run);
/// Whether the run's directory has a config with this run's identity.
bool has_config_of(PlannedRun const& run);
/// What the run's directory holds.
RunProgress progress_of(PlannedRun const& run);

struct RunsOptions {
  std::int64_t jobs = 1;       ///< runs at once
  std::int64_t processes = 1;  ///< a run
  std::string launcher;        ///< with {} for the number of processes; for more than one process
};

struct RunsResult {
  std::vector<int> failed;  ///< numbers of the runs
  bool stopped = false;     ///< a signal asked to stop; runs under way wrote a checkpoint
  bool gained = false;      ///< a run finished, or made a step or an evaluation before a stop
};

/// Trains the runs that are not finished, each as a child process of this program with its output
/// in <directory>/output.txt. A run that fails is named with the end of its output; the others go
/// on. SIGINT, SIGTERM and SIGUSR1 stop all children with a checkpoint.
RunsResult train_runs(std::vector<PlannedRun> const& runs, RunsOptions const& options);

/// What the run's directory holds, without spectra.
StudyRun read_run(PlannedRun const& planned);

/// Spectra of the error after each stage whose weights the run kept (<run>/stages/NN.h5), on the
/// run's finest grid, means over the first `samples` held-out samples. Each is kept beside its
/// weights as NN.spectrum and computed only once.
/// @throws Error if the held-out data or the weights do not fit the config.
std::vector<StageSpectrum> spectra_of_run(PlannedRun const& run, std::int64_t samples,
                                          Communicator const& self);

/// Writes study.html, ablation.json and ablation.csv from what the runs' directories hold, and says
/// which runs are missing. Spectra of the error are computed where they are not kept from before.
/// @param config  of the whole study
void write_study_report(Config const& config, std::vector<PlannedRun> const& runs,
                        Communicator const& self);

}  // namespace voxcycle
