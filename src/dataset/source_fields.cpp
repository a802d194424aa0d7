// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/dataset/source_fields.hpp"

#include "voxcycle/field/formula.hpp"

#include <algorithm>
#include <utility>

namespace voxcycle {

SourceFields::SourceFields(Source source) : source_(std::move(source)) {}

std::vector<float> SourceFields::of(ShardInfo const& info, std::int64_t index,
                                    Planes const& planes) const {
  if (!info.has_source) return {};
  Grid3 const& grid = info.grid;
  if (source_.kind == SourceKind::sampled) {
    std::vector<float> f(static_cast<std::size_t>(on_planes(grid, planes).voxel_count()));
    sample_source(info.seed, index, grid, planes, f);
    return f;
  }
  std::lock_guard const lock(mutex_);
  auto const found = std::find_if(common_.begin(), common_.end(), [&](Values const& values) {
    return values.grid == grid && values.planes == planes;
  });
  if (found != common_.end()) return found->f;
  auto f = source_.kind == SourceKind::formula ? formula_values(source_.formula, grid, planes)
                                               : file_source_values(source_, grid, planes);
  common_.push_back({grid, planes, std::move(f)});
  return common_.back().f;
}

}  // namespace voxcycle
