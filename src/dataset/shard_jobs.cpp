// SPDX-License-Identifier: BSD-3-Clause
#include "dataset/shard_jobs.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/is_there.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/per_level.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/dataset/sample_source.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <set>

#include <sys/stat.h>

namespace voxcycle {
namespace {

/// A file that is no shard is not replaced: it may be somebody's own.
ShardReader open_shard(std::string const& path) {
  try {
    return ShardReader(path);
  } catch (Error const& problem) {
    std::string text = problem.what();
    bool const readable = std::ifstream(path).good();
    if (readable && !text.ends_with("makes it anew.")) {
      text += " Remove the file, then voxcycle generate makes it anew.";
    }
    throw Error(text);
  }
}

void require_same_data(CoefficientFamily const& family, ShardInfo found, ShardJob const& job) {
  if (family.may_have(found.family)) found.family = job.info.family;
  auto const differing = difference(found, job.info);
  VOXCYCLE_REQUIRE(differing.empty(),
                   job.path << " holds other data (" << differing
                            << "). Choose another data.directory or remove the file.");
}

}  // namespace

std::int64_t cost(ShardInfo const& info) {
  constexpr std::int64_t of_reference = 30;
  return info.samples * info.grid.voxel_count() * (info.has_reference ? 1 + of_reference : 1);
}

namespace {

/// Files of a split and grid: as many as its names have digits for.
constexpr std::int64_t kMaxShards = 99'999;

/// Of the arrays.
double bytes_of(ShardInfo const& info) {
  auto const voxels = static_cast<double>(info.grid.voxel_count());
  auto const nodes = static_cast<double>(info.grid.node_count());
  return static_cast<double>(info.samples) * ((info.has_source ? 2 : 1) * sizeof(float) * voxels +
                                              (info.has_reference ? sizeof(double) * nodes : 0.0));
}

/// The directory, or the nearest above it that is there.
std::filesystem::path existing(std::filesystem::path directory) {
  std::error_code code;
  directory = std::filesystem::absolute(directory);
  while (!std::filesystem::exists(directory, code) && directory.has_relative_path()) {
    directory = directory.parent_path();
  }
  return directory;
}

}  // namespace

std::vector<ShardJob> plan_jobs(DatasetOptions const& options, CoefficientFamily const& family) {
  auto const& grids = options.grids;
  auto const max_samples = one_per_level("data.shard_samples", options.shard_samples, grids.size());
  std::vector<ShardJob> jobs;
  auto const add_split = [&](std::string const& split, std::size_t level) {
    Grid3 const& grid = grids[level];
    std::int64_t const maximum = max_samples[level];
    ShardInfo info = sample_info(options, family, split, grid);
    std::int64_t const samples = info.samples;
    std::int64_t const origin = split_origin(options, family, split);
    std::int64_t const shards = (samples + maximum - 1) / maximum;
    VOXCYCLE_REQUIRE(shards <= kMaxShards,
                     samples << " samples (data." << split << "_samples) in shards of " << maximum
                             << " are " << shards << " files (a directory takes at most "
                             << kMaxShards << "). Raise data.shard_samples.");
    for (std::int64_t k = 0; k < shards; ++k) {
      info.first_index = samples * k / shards;
      info.samples = samples * (k + 1) / shards - info.first_index;
      jobs.push_back({shard_directory(options.directory, split, grid) + "/" + shard_name(k, shards),
                      info, origin});
    }
  };
  for (std::size_t level = 0; level < grids.size(); ++level) {
    if (level > 0 && grids[level] == grids[level - 1]) continue;
    if (!options.on_the_fly) add_split("train", level);
    add_split("held_out", level);
  }
  return jobs;
}

void require_no_other_sets(std::vector<ShardJob> const& jobs) {
  namespace fs = std::filesystem;
  std::set<fs::path> seen;
  for (auto const& job : jobs) {
    fs::path const path(job.path), directory = path.parent_path();
    std::error_code code;  // a directory that cannot be read is told of by whoever writes there
    if (!seen.insert(directory).second || !fs::is_directory(directory, code)) continue;
    auto const wanted = count_in_shard_name(path.filename().string());
    for (auto const& entry : fs::directory_iterator(directory, code)) {
      auto const found = count_in_shard_name(entry.path().filename().string());
      VOXCYCLE_REQUIRE(!found || found == wanted,
                       entry.path().string()
                           << " is one of " << *found << " shards, this config asks for " << *wanted
                           << " (of other data.train_samples, data.held_out_samples or "
                              "data.shard_samples). Choose another data.directory, or remove "
                           << directory.string() << '.');
    }
  }
}

void require_room_on_disk(std::vector<ShardJob> const& jobs) {
  namespace fs = std::filesystem;
  std::map<dev_t, double> needed;
  std::map<fs::path, dev_t> disks;
  for (auto const& job : jobs) {
    std::error_code code;
    if (fs::exists(job.path, code)) continue;
    auto const directory = fs::path(job.path).parent_path();
    if (disks.count(directory) == 0) {
      struct stat status {};
      ::stat(existing(directory).c_str(), &status);
      disks[directory] = status.st_dev;
    }
    needed[disks[directory]] += bytes_of(job.info);
  }
  for (auto const& [directory, disk] : disks) {
    std::error_code code;
    auto const there = fs::space(existing(directory), code);
    if (code) continue;
    VOXCYCLE_REQUIRE(needed[disk] <= static_cast<double>(there.free),
                     directory.string()
                         << ": the disk has " << format_bytes(static_cast<double>(there.free))
                         << " of free space, and the shards that are to be made there need "
                         << format_bytes(needed[disk])
                         << ". Lower data.train_samples or data.held_out_samples, or choose a "
                            "data.directory on another disk.");
  }
}

std::vector<int> share_jobs(std::vector<ShardJob> const& jobs, int ranks) {
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return cost(jobs[a].info) > cost(jobs[b].info);
  });
  std::vector<std::int64_t> load(static_cast<std::size_t>(ranks), 0);
  std::vector<int> owner(jobs.size());
  for (std::size_t const job : order) {
    auto const minimum = std::min_element(load.begin(), load.end());
    *minimum += cost(jobs[job].info);
    owner[job] = static_cast<int>(minimum - load.begin());
  }
  return owner;
}

bool is_done(CoefficientFamily const& family, ShardJob const& job, StopSignal const& stop) {
  if (!is_there(job.path)) return false;
  ShardReader const shard = open_shard(job.path);
  require_same_data(family, shard.info(), job);
  // Any of the arrays of a user's file may have been replaced under the same name.
  std::int64_t const compared = family.sample_count() ? shard.info().samples : 1;
  for (std::int64_t k = 0; k < shard.info().samples; ++k) {
    if (stop.requested()) throw StopRequested();
    ShardSample sample;
    try {
      sample = shard.read(k);
    } catch (Error const& damage) {
      log_warning(std::string(damage.what()) + " Making it anew.");
      return false;
    }
    if (k >= compared) continue;
    VOXCYCLE_REQUIRE(
        sample.nu == make_coefficient(family, job.info, job.origin, job.info.first_index + k).nu,
        job.path << " holds other data (its sample " << k << " is not number "
                 << job.origin + job.info.first_index + k << " of " << family.signature()
                 << " any more). Choose another data.directory or remove the file.");
  }
  double const found = shard.info().reference_tolerance;
  if (!job.info.has_reference || found <= job.info.reference_tolerance) return true;
  log_warning(
      format("%s: its references were solved to %g, data.reference_tolerance is %g. Making "
             "it anew.",
             job.path.c_str(), found, job.info.reference_tolerance));
  return false;
}

}  // namespace voxcycle
