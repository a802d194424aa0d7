// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace voxcycle {

/// What a file of named arrays says that it is; a reader accepts exactly its own.
struct ArchiveFormat {
  std::string name = "voxcycle-archive";
  std::int64_t version = 1;
};

/// Collects named arrays and texts and writes them as one HDF5 file: each array a dataset of its
/// name ('/' makes groups) with an attribute `crc32` over its bytes, texts as uint8. Names are
/// unique, not empty, and do not begin or end with '/'.
class ArchiveWriter {
 public:
  explicit ArchiveWriter(ArchiveFormat format = {});
  ~ArchiveWriter();
  ArchiveWriter(ArchiveWriter&&) noexcept;
  ArchiveWriter& operator=(ArchiveWriter&&) noexcept;

  /// Adds an array, row-major.
  /// @param shape  extents, [] for a single value
  /// @param owner  keeps `values` as they are until the file is written; without one they are
  /// copied
  /// @throws Error for a name already used or a shape that does not fit.
  void add(std::string const& name, std::span<float const> values, std::vector<std::int64_t> shape,
           std::shared_ptr<void const> owner = {});
  void add(std::string const& name, std::span<double const> values, std::vector<std::int64_t> shape,
           std::shared_ptr<void const> owner = {});
  void add(std::string const& name, std::span<std::int64_t const> values,
           std::vector<std::int64_t> shape, std::shared_ptr<void const> owner = {});
  void add_text(std::string const& name, std::string const& text);

  /// Writes the file; it appears under its name only when whole (see write_atomically).
  /// @throws Error with HDF5's or the system's own text, e.g. no space on the disk.
  void save(std::string const& path) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Reads such a file. All members throw Error naming file and array for: missing, truncated or
/// foreign files, another version, missing arrays, another type of numbers, a checksum that does
/// not fit.
class ArchiveReader {
 public:
  explicit ArchiveReader(std::string const& path, ArchiveFormat const& format = {});
  ~ArchiveReader();
  ArchiveReader(ArchiveReader&&) noexcept;
  ArchiveReader& operator=(ArchiveReader&&) noexcept;

  std::string const& path() const;
  /// All names, sorted.
  std::vector<std::string> const& names() const;
  bool has(std::string const& name) const;
  std::vector<std::int64_t> shape(std::string const& name) const;
  bool holds_double(std::string const& name) const;  ///< else another type
  std::vector<float> read_float(std::string const& name) const;
  std::vector<double> read_double(std::string const& name) const;
  std::vector<std::int64_t> read_int64(std::string const& name) const;
  std::string read_text(std::string const& name) const;
  /// Reads all. @throws Error for the first array that is damaged.
  void require_sound() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace voxcycle
