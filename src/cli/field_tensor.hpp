// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/error.hpp"
#include "voxcycle/io/field_file.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

namespace voxcycle {

/// The field's values as a tensor [planes, ny, nz] that owns them: no copy.
inline at::Tensor tensor_of(VoxelField&& field) {
  auto const holder = std::make_shared<std::vector<double>>(std::move(field.values));
  return at::from_blob(
      holder->data(), {field.planes.count, field.grid.voxels[1], field.grid.voxels[2]},
      [holder](void*) {}, at::kDouble);
}

/// Does work on a field, whose errors then name it.
template <class Work>
auto of_field(std::string const& location, Work const& work) {
  try {
    return work();
  } catch (Error& problem) {
    problem.prepend(location + ": ");
    throw;
  }
}

}  // namespace voxcycle
