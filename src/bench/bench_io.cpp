// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/random.hpp"
#include "voxcycle/dataset/prefetch.hpp"
#include "voxcycle/io/shard.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "bench/measure.hpp"
#include <unistd.h>

namespace voxcycle {
namespace {

namespace fs = std::filesystem;

/// A directory below data.directory, on the disk that training reads from, for as long as it lives.
class ScratchDirectory {
 public:
  explicit ScratchDirectory(fs::path const& root)
      : path_(root / ("bench-io-" + std::to_string(::getpid()))), first_made_(path_) {
    while (first_made_.has_parent_path() && !fs::exists(first_made_.parent_path())) {
      first_made_ = first_made_.parent_path();
    }
  }
  ~ScratchDirectory() {
    std::error_code ignored;  // nothing that a destructor could do about it
    fs::remove_all(path_, ignored);
    for (fs::path above = path_; above != first_made_;) {
      above = above.parent_path();
      fs::remove(above, ignored);  // unless something else is there by now
    }
  }
  ScratchDirectory(ScratchDirectory const&) = delete;
  ScratchDirectory& operator=(ScratchDirectory const&) = delete;

  std::string file(std::string const& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_, first_made_;
};

/// Noise, as large as samples of that kind are.
ShardSample noise(ShardInfo const& info, std::uint64_t index) {
  auto const fill = [&](auto& values, std::int64_t count, std::uint64_t purpose) {
    for (std::int64_t k = 0; k < count; ++k) {
      values.push_back(
          static_cast<float>(0.5 + hash_uniform({purpose, index, static_cast<std::uint64_t>(k)})));
    }
  };
  ShardSample sample;
  fill(sample.omega, info.parameters, 0);
  fill(sample.nu, info.grid.voxel_count(), 1);
  if (info.has_source) fill(sample.f, info.grid.voxel_count(), 2);
  if (info.has_reference) fill(sample.u_ref, info.grid.node_count(), 3);
  return sample;
}

ShardInfo shard_info(Config const& config, Grid3 const& grid, std::int64_t samples) {
  ShardInfo info = problem_info(dataset_options(config), "train", grid);
  info.family = "noise";
  info.parameters = 4;
  info.samples = samples;
  return info;
}

void read_plainly(std::string const& path, std::string& bytes) {
  std::ifstream in(path, std::ios::binary);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  VOXCYCLE_REQUIRE(in, "cannot read " << path << ": " << std::strerror(errno) << '.');
}

/// Every sample once, in training's order, micro-batch by micro-batch, on a thread of its own.
void prefetch_all(std::string const& directory, TrainOptions const& options, std::int64_t batch,
                  ReadReference references) {
  std::vector<std::unique_ptr<SampleSource>> sets;
  sets.push_back(stored_samples(directory));
  std::int64_t const samples = sets.front()->samples();
  std::int64_t const steps = micro_batch_count(samples, batch);
  Prefetcher prefetcher(Mixture(std::move(sets), {1.0}, {.block = options.sample_block}),
                        {.batch = batch,
                         .micro_batch_size = options.micro_batch_size,
                         .steps = steps,
                         .period = samples,
                         .references = references,
                         .workers = options.workers});
  for (std::int64_t step = 0; step < steps; ++step) prefetcher.next();
}

}  // namespace

BenchResult bench_io(BenchOptions const& o) {
  VOXCYCLE_REQUIRE(o.comm.size() == 1, "bench io measures one process, not "
                                           << o.comm.size() << ". Start it without mpirun.");
  Grid3 const grid = Grid3::cube(o.grid.value_or(64));
  std::int64_t const batch = o.batch.value_or(8);
  std::int64_t const samples = o.samples.value_or(32);
  std::int64_t const repeats = bench_repeats(o);
  TrainOptions const options = train_options(o.config);
  ShardInfo const info = shard_info(o.config, grid, samples);
  auto const references = info.has_reference ? ReadReference::yes : ReadReference::no;
  std::vector<ShardSample> made;
  for (std::int64_t k = 0; k < samples; ++k) {
    made.push_back(noise(info, static_cast<std::uint64_t>(k)));
  }

  ScratchDirectory const scratch(o.config.text("data.directory"));
  auto const shard = scratch.file(shard_name(0, 1)), plain = scratch.file("plain");
  auto const write = [&] {
    write_shard(shard, info, [&](std::int64_t k) { return made[static_cast<std::size_t>(k)]; });
  };
  auto const read = [&] {
    ShardReader const reader(shard);
    for (std::int64_t k = 0; k < samples; ++k) (void)reader.read(k, references);
  };
  write();
  std::string bytes = read_file(shard);
  auto const seconds = medians(repeats, [&]() -> std::vector<double> {
    return {seconds_of(write), seconds_of([&] { write_file_atomically(plain, bytes); }),
            seconds_of(read),
            seconds_of([&] { prefetch_all(scratch.path(), options, batch, references); }),
            seconds_of([&] { read_plainly(plain, bytes); })};
  });
  auto members = Json::object({{"bench", "io"},
                               {"grid", grid.voxels[0]},
                               {"samples", samples},
                               {"batch", batch},
                               {"bytes", bytes.size()},
                               {"repeats", repeats}});
  // Something done with all samples of the shard, and the plain copy of its bytes beside it.
  auto const report = [&](std::string const& name, double taken, double copied) {
    auto const add = [&](char const* what, double value) { members[name + what] = value; };
    add("_seconds_median", taken);
    add("_copy_seconds_median", copied);
    add("_ratio_to_copy", taken / copied);
    add("_samples_per_second", static_cast<double>(samples) / taken);
    add("_megabytes_per_second", static_cast<double>(bytes.size()) / taken / 1e6);
  };
  report("write", seconds[0], seconds[1]);
  report("read", seconds[2], seconds[4]);
  report("prefetch", seconds[3], seconds[4]);
  return {members};
}

}  // namespace voxcycle
