// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/slab.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
  std::string boundary;         ///< conditions that u_ref was solved for, as to_string(Boundary)
  std::string source = "0";     ///< right-hand side that u_ref was solved for, as to_string(Source)
  std::int64_t parameters = 0;  ///< length of omega
  std::int64_t first_index = 0;  ///< global index of the first sample
  std::int64_t samples = 0;
  bool has_source = false;  ///< whether every sample has a source of its own
  bool has_reference = false;
  /// Largest relative residual of u_ref; means nothing without references. Shards of before it was
  /// recorded were made with the default of data.reference_tolerance.
  double reference_tolerance = 1e-10;
  std::string reference_solver = "multigrid";  ///< likewise
  /// ShardSample::reference_difference of its first sample, where it was recorded.
  std::optional<double> reference_difference{};
  bool operator==(ShardInfo const&) const = default;
};

/// One sample as stored.
struct ShardSample {
  std::vector<double> omega;  ///< [parameters]
  std::vector<float> nu;      ///< [nx, ny, nz]
  std::vector<float> f;       ///< [nx, ny, nz] or empty
  std::vector<double> u_ref;  ///< [nx+1, ny+1, nz+1] or empty
  /// |u - u_ref| / |u_ref| of a second solver's u. Written of a shard's first sample only, and not
  /// read: see ShardInfo.
  std::optional<double> reference_difference{};
};

/// What a sample has on these voxel planes of its grid.
ShardSample on_planes(ShardSample sample, Grid3 const& grid, Planes const& planes);

/// Writes one HDF5 shard: /omega [S, m] float64, /nu [S, nx, ny, nz] float32, optional
/// /f [S, nx, ny, nz] float32 and /u_ref [S, nx+1, ny+1, nz+1] float64, /checksum [S, 4] (CRC-32 of
/// the bytes of each sample's omega, nu, f and u_ref; 0 for what is not there), attributes for
/// ShardInfo, the format's name ("voxcycle-shard") and version. The file appears under its name
/// only when whole (see write_atomically). `sample` is called for each of info.samples local
/// indices in order.
/// @throws Error with HDF5's or the system's own text, e.g. no space on the disk.
void write_shard(std::string const& path, ShardInfo const& info,
                 std::function<ShardSample(std::int64_t local)> const& sample);

/// Whether a sample is read with its reference solution, which is twice as large as nu.
enum class ReadReference { no, yes };

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
  /// u_ref stays empty where the shard has none or it is not asked for.
  /// @param planes  that are read, of voxels; checksums are those of whole fields, and are not
  ///                looked at for some planes of them
  ShardSample read(std::int64_t local, ReadReference reference = ReadReference::yes,
                   Planes const& planes = {}) const;
  /// CRC-32 of the checksums of each sample's omega, nu and f: tells sets apart without reading
  /// them. @param start  of the shard before
  std::uint32_t contents(std::uint32_t start = 0) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// <root>/<split>/<grid name>: where the shards of one split and grid live.
std::string shard_directory(std::string const& root, std::string const& split, Grid3 const& grid);
/// "shard-00002-of-00008.h5"
std::string shard_name(std::int64_t number, std::int64_t count);
/// The count in the name of a shard's file; none if it is no such name.
std::optional<std::int64_t> count_in_shard_name(std::string const& name);

/// What the shards of one directory say of themselves. Each of them is opened for that, which takes
/// its time where there are thousands: read it once. Copies share it.
class ShardList {
 public:
  /// Checks that the shards are complete, belong together (family, seed, split, grid, boundary,
  /// source) and cover [0, samples) without gap or overlap.
  /// @throws Error naming the file at fault, and if the directory is missing or holds no shard
  /// ("run voxcycle generate").
  ShardList(std::string const& directory);  // NOLINT(google-explicit-constructor): a name for it

  std::int64_t samples() const;
  /// See ShardSet::info.
  ShardInfo const& info() const;

 private:
  friend class ShardSet;
  struct Impl;
  std::shared_ptr<Impl const> impl_;
};

/// The shards of one directory as one array of samples. Opens files on demand, and closes some
/// where all sets of the process hold many; read is not thread-safe.
class ShardSet {
 public:
  explicit ShardSet(ShardList list);
  ~ShardSet();
  ShardSet(ShardSet&&) noexcept;
  ShardSet& operator=(ShardSet&&) noexcept;

  std::int64_t samples() const;
  /// Info of the first shard (family, seed, split, grid, boundary, source are common to all), with
  /// the loosest reference_tolerance of all, and "multigrid- or fft" for solvers that differ.
  ShardInfo const& info() const;
  /// Sample by global index in [0, samples()).
  ShardSample read(std::int64_t index, ReadReference reference = ReadReference::yes,
                   Planes const& planes = {});
  /// ShardReader::contents of all samples, however they are shared out to files.
  std::uint32_t contents(std::uint32_t start = 0);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace voxcycle
