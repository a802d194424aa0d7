// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace voxcycle {

/// Voxel arrays in an HDF5 file of the user's own: a dataset [S, nx, ny, nz], or [nx, ny, nz] for
/// one sample, of integers or floating-point numbers; more axes of size 1 may stand in front of nx.
/// The box is the unit cube.
class VoxelFile {
 public:
  /// @param location  "PATH:/dataset"; the last ":/" divides
  /// @throws Error naming the file and dataset if there is none, or it is of another shape or type
  explicit VoxelFile(std::string const& location);
  ~VoxelFile();

  Grid3 const& grid() const;
  std::int64_t samples() const;
  /// Planes along x of a sample.
  /// @param index  in [0, samples())
  /// @param first  with count > 0 of them, in [0, nx)
  /// @return [count, ny, nz], z fastest, rounded to float32. Thread-safe.
  /// @throws Error for planes or samples that are not there.
  std::vector<float> read(std::int64_t index, std::int64_t first, std::int64_t count) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace voxcycle
