// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/median.hpp"
#include "voxcycle/core/random.hpp"
#include "voxcycle/dataset/prefetch.hpp"
#include "voxcycle/io/shard.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/bench.hpp"
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
                         .references = references});
  for (std::int64_t step = 0; step < steps; ++step) prefetcher.next();
}

/// Something done with all samples of a shard, and the plain copy of its bytes beside it.
struct Measured {
  std::string name;
  std::vector<double> seconds{}, copy_seconds{};

  void report(std::int64_t samples, std::size_t bytes, json::Members& members) const {
    double const taken = median(seconds), copied = median(copy_seconds);
    members.insert(
        members.end(),
        {{name + "_seconds_median", json::number(taken)},
         {name + "_copy_seconds_median", json::number(copied)},
         {name + "_ratio_to_copy", json::number(taken / copied)},
         {name + "_samples_per_second", json::number(static_cast<double>(samples) / taken)},
         {name + "_megabytes_per_second", json::number(static_cast<double>(bytes) / taken / 1e6)}});
  }
};

}  // namespace

int bench_io(Invocation const& call) {
  VOXCYCLE_REQUIRE(call.comm.size() == 1, "bench io measures one process, not "
                                              << call.comm.size() << ". Start it without mpirun.");
  Grid3 const grid = Grid3::cube(bench_number(call, "grid", 64));
  std::int64_t const batch = bench_number(call, "batch", 8);
  std::int64_t const samples = bench_number(call, "samples", 32);
  std::int64_t const repeats = bench_repeats(call);
  TrainOptions const options = train_options(call.config);
  ShardInfo const info = shard_info(call.config, grid, samples);
  auto const references = info.has_reference ? ReadReference::yes : ReadReference::no;
  std::vector<ShardSample> made;
  for (std::int64_t k = 0; k < samples; ++k) {
    made.push_back(noise(info, static_cast<std::uint64_t>(k)));
  }

  ScratchDirectory const scratch(call.config.text("data.directory"));
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
  Measured writing{"write"}, reading{"read"}, prefetching{"prefetch"};
  for (int k = 0; k < repeats + kBenchWarmUps; ++k) {
    double const written = seconds_of(write);
    double const written_plainly = seconds_of([&] { write_file_atomically(plain, bytes); });
    double const found = seconds_of(read);
    double const prefetched =
        seconds_of([&] { prefetch_all(scratch.path(), options, batch, references); });
    double const found_plainly = seconds_of([&] { read_plainly(plain, bytes); });
    if (k < kBenchWarmUps) continue;
    writing.seconds.push_back(written);
    writing.copy_seconds.push_back(written_plainly);
    reading.seconds.push_back(found);
    prefetching.seconds.push_back(prefetched);
    reading.copy_seconds.push_back(found_plainly);
    prefetching.copy_seconds.push_back(found_plainly);
  }
  json::Members members{{"bench", json::text("io")},
                        {"grid", std::to_string(grid.voxels[0])},
                        {"samples", std::to_string(samples)},
                        {"batch", std::to_string(batch)},
                        {"bytes", std::to_string(bytes.size())},
                        {"repeats", std::to_string(repeats)}};
  for (auto const* measured : {&writing, &reading, &prefetching}) {
    measured->report(samples, bytes.size(), members);
  }
  return bench_report(call, members);
}

}  // namespace voxcycle
