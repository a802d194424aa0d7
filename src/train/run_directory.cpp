// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/run_directory.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <filesystem>
#include <system_error>

namespace voxcycle {

std::string checkpoint_path(std::string const& directory) {
  return directory + "/checkpoint.h5";
}

std::string checkpoint_at(std::string const& path) {
  std::filesystem::path const place(path);
  return std::filesystem::is_directory(place) ? (place / "checkpoint.h5").string() : path;
}

std::string best_path(std::string const& directory) {
  return directory + "/best.h5";
}

std::string stage_path(std::string const& directory, int stage) {
  return directory + format("/stages/%02d.h5", stage + 1);
}

bool resumes(TrainOptions const& options) {
  return options.restart == Restart::resume &&
         std::filesystem::exists(checkpoint_path(options.directory));
}

bool holds_finished_run(TrainOptions const& options) {
  return resumes(options) && CheckpointReader(checkpoint_path(options.directory)).header().finished;
}

void require_same_run(TrainOptions const& options, CheckpointHeader const& there) {
  auto const differing = first_difference(there.fingerprint, options.fingerprint);
  if (!differing) return;
  std::string cure = "Choose another run.directory";
  if (differing->key == Fingerprint::kThreads && differing->there && differing->now) {
    cure = "Sums depend on the number of threads: set run.threads = " + *differing->there +
           ", or start as many processes as then (cores are shared out to them)";
  }
  throw Error(options.directory + " holds a run of another config (" + differing->text() + "). " +
              cure + ", or start over with --fresh.");
}

void require_start(TrainOptions const& options) {
  if (options.start.empty()) return;
  std::error_code none;  // of a directory that is not there
  VOXCYCLE_REQUIRE(!std::filesystem::equivalent(options.start, options.directory, none),
                   "train.start = '" << options.start
                                     << "' is the run's own directory, which a new run would "
                                        "overwrite. Choose another run.directory.");
  std::string const path = checkpoint_path(options.start);
  VOXCYCLE_REQUIRE(std::filesystem::exists(path) && CheckpointReader(path).header().finished,
                   "train.start = '" << options.start
                                     << "' holds no finished run. Train that one first, or leave "
                                        "train.start empty.");
}

}  // namespace voxcycle
