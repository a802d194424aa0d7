// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/io/image.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace voxcycle {

/// Fields of one shape in files of the user's own, one after the other. Their box is the unit cube.
class VoxelSet {
 public:
  /// @param locations  a list of
  ///     FILE.h5:/dataset     [S, nx, ny, nz]: S fields; [nx, ny, nz]: one
  ///     FILE.npy             likewise
  ///     other locations of read_voxel_field: a field each, and patterns and folders of them
  /// @param phases     what the numbers stand for; nothing: the values themselves
  /// @throws Error naming the location if there is none, or it is of another shape or type
  explicit VoxelSet(std::string const& locations, std::optional<Phases> phases = {});
  ~VoxelSet();

  Grid3 const& grid() const;
  std::int64_t samples() const;
  /// Planes along x of a sample.
  /// @param index  in [0, samples())
  /// @param first  with count > 0 of them, in [0, nx)
  /// @return [count, ny, nz], z fastest, rounded to float32. Thread-safe.
  /// @throws Error for planes or samples that are not there, fields of another shape than the
  /// first,
  ///         numbers without a phase.
  std::vector<float> read(std::int64_t index, std::int64_t first, std::int64_t count) const;

  /// Reads the first fields (1 GiB of voxels). What they look wrong for, as a sentence: labels
  /// without phases, phases that do not occur. Else "". @throws Error as read does.
  std::string doubt() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace voxcycle
