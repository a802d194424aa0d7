// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/run_directory.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

namespace voxcycle {

namespace fs = std::filesystem;

std::string checkpoint_path(std::string const& directory) {
  return directory + "/checkpoint.h5";
}

std::string older_checkpoint_path(std::string const& directory, int age) {
  return directory + format("/checkpoint-%d.h5", age);
}

namespace {

/// checkpoint.h5 for age 0.
std::string path_of_age(std::string const& directory, int age) {
  return age == 0 ? checkpoint_path(directory) : older_checkpoint_path(directory, age);
}

/// How many there are, the newest among them.
int count_checkpoints(std::string const& directory) {
  int count = 0;
  while (fs::exists(path_of_age(directory, count))) ++count;
  return count;
}

std::string next_damaged(std::string const& directory) {
  for (int number = 1;; ++number) {
    auto path = directory + format("/damaged-%d.h5", number);
    if (!fs::exists(path)) return path;
  }
}

}  // namespace

void shift_checkpoints(std::string const& directory, int keep) {
  int const count = count_checkpoints(directory);
  for (int age = std::max(1, keep - 1); age < count; ++age) {
    fs::remove(path_of_age(directory, age));
  }
  if (count == 0 || keep == 1) return;
  for (int age = std::min(count, keep - 1); age > 1; --age) {
    fs::rename(path_of_age(directory, age - 1), path_of_age(directory, age));
  }
  auto const newest = checkpoint_path(directory), older = older_checkpoint_path(directory, 1);
  std::error_code code;
  fs::create_hard_link(newest, older, code);
  if (code) fs::copy_file(newest, older);  // file systems without hard links
}

void use_sound_checkpoint(std::string const& directory) {
  int const count = count_checkpoints(directory);
  std::vector<std::string> damages;
  for (int age = 0; age < count; ++age) {
    auto const path = path_of_age(directory, age);
    try {
      CheckpointReader(path).require_sound();
    } catch (Error const& problem) {
      damages.emplace_back(problem.what());
      continue;
    }
    for (int k = 0; k < age; ++k) {
      auto const aside = next_damaged(directory);
      fs::rename(path_of_age(directory, k), aside);
      log_warning(damages[static_cast<std::size_t>(k)] + " It is " + aside +
                  " now; going on from the checkpoint before it.");
    }
    for (int k = age; age > 0 && k < count; ++k) {
      fs::rename(path_of_age(directory, k), path_of_age(directory, k - age));
    }
    return;
  }
  if (!damages.empty()) throw Error(damages.front());
}

CheckpointHeader readable_header(std::string const& directory) {
  for (int age = 0; age < count_checkpoints(directory); ++age) {
    try {
      return CheckpointReader(path_of_age(directory, age)).header();
    } catch (Error const&) {
      continue;  // use_sound_checkpoint tells of it
    }
  }
  return CheckpointReader(checkpoint_path(directory)).header();  // says what is wrong
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
  } else if (differing->key == "run.spatial_parts" && differing->there) {
    cure = "Sums depend on the parts of samples: set run.spatial_parts = " + *differing->there;
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
