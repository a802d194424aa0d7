// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace voxcycle {

/// What a shard file says about itself (attributes of its root group).
struct ShardInfo {
  std::string family;  ///< CoefficientFamily::signature()
  std::uint64_t seed = 0;
  std::string split;  ///< "train" or "held_out"
  Grid3 grid;
  std::string boundary;          ///< conditions that u_ref was solved for, as to_string(Boundary)
  std::int64_t parameters = 0;   ///< length of omega
  std::int64_t first_index = 0;  ///< global index of the first sample
  std::int64_t samples = 0;
  bool has_reference = false;
  bool operator==(ShardInfo const&) const = default;
};

/// One sample as stored.
struct ShardSample {
  std::vector<double> omega;  ///< [parameters]
  std::vector<float> nu;      ///< [nx, ny, nz]
  std::vector<double> u_ref;  ///< [nx+1, ny+1, nz+1] or empty
};

/// Writes one HDF5 shard: /omega [S, m] float64, /nu [S, nx, ny, nz] float32, optional
/// /u_ref [S, nx+1, ny+1, nz+1] float64, /checksum [S] (CRC-32 of each sample's omega, nu and u_ref
/// bytes), attributes for ShardInfo, the format's name ("voxcycle-shard") and version. The file
/// appears under its name only when whole (see write_atomically). `sample` is called for each of
/// info.samples local indices in order.
/// @throws Error with HDF5's or the system's own text, e.g. no space on the disk.
void write_shard(std::string const& path, ShardInfo const& info,
                 std::function<ShardSample(std::int64_t local)> const& sample);

/// Reads a shard. All members throw Error naming the file for: missing, truncated or foreign files,
/// another format version, a checksum that does not fit, non-positive or non-finite nu.
class ShardReader {
 public:
  explicit ShardReader(std::string const& path);
  ~ShardReader();
  ShardReader(ShardReader&&) noexcept;
  ShardReader& operator=(ShardReader&&) noexcept;

  ShardInfo const& info() const;
  std::string const& path() const;
  ShardSample read(std::int64_t local) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// <root>/<split>/<grid name>: where the shards of one split and grid live.
std::string shard_directory(std::string const& root, std::string const& split, Grid3 const& grid);
/// "shard-00002-of-00008.h5"
std::string shard_name(std::int64_t number, std::int64_t count);

/// The shards of one directory as one array of samples. Checks that the shards are complete, belong
/// together (family, seed, split, grid, boundary) and cover [0, samples) without gap or overlap.
/// Opens files on demand; read is not thread-safe. @throws Error naming the file at fault.
class ShardSet {
 public:
  /// @throws Error if the directory is missing or holds no shard ("run voxcycle generate").
  explicit ShardSet(std::string const& directory);
  ~ShardSet();
  ShardSet(ShardSet&&) noexcept;
  ShardSet& operator=(ShardSet&&) noexcept;

  std::int64_t samples() const;
  /// Info of the first shard (family, seed, split, grid, boundary are common to all).
  ShardInfo const& info() const;
  /// Sample by global index in [0, samples()).
  ShardSample read(std::int64_t index);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace voxcycle
