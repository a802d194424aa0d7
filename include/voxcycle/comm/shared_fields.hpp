// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/led_work.hpp"
#include "voxcycle/comm/space.hpp"
#include "voxcycle/grid/box.hpp"

#include <functional>
#include <vector>

namespace voxcycle {

/// Fields that processes share out, for the first of them to read a box at a time, e.g. to write a
/// file: no process ever has one as a whole.
class SharedFields {
 public:
  /// @param fields  float64 on the CPU, [planes, ny, nz] or [planes, ny, nz, components] of the
  ///                part's nodes or voxels
  SharedFields(Space space, std::vector<at::Tensor> fields);

  /// The first process does its work, which may call `read`; the others have boxes ready until it
  /// is done. **Collective**. @throws what the work threw: CommonError, on all of them.
  void serve(std::function<void()> const& work) const;

  /// Within the work. @param field  its place among the fields. @return [box.count, ...]
  at::Tensor read(std::size_t field, Box const& box) const;

 private:
  at::Tensor own_part(std::size_t field, Box const& box) const;

  Space space_;
  std::vector<at::Tensor> fields_;
  LedWork led_;
};

}  // namespace voxcycle
