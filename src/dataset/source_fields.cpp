// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/dataset/source_fields.hpp"

#include "voxcycle/field/formula.hpp"

#include <algorithm>
#include <utility>

namespace voxcycle {

SourceFields::SourceFields(Source source) : source_(std::move(source)) {}

std::vector<float> SourceFields::of(ShardInfo const& info, std::int64_t index) const {
  if (!info.has_source) return {};
  if (source_.kind == SourceKind::sampled) {
    std::vector<float> f(static_cast<std::size_t>(info.grid.voxel_count()));
    sample_source(info.seed, index, info.grid, f);
    return f;
  }
  std::lock_guard const lock(mutex_);
  auto const found = std::find_if(common_.begin(), common_.end(),
                                  [&](auto const& entry) { return entry.first == info.grid; });
  if (found != common_.end()) return found->second;
  auto values = source_.kind == SourceKind::formula ? formula_values(source_.formula, info.grid)
                                                    : file_source_values(source_, info.grid);
  return common_.emplace_back(info.grid, std::move(values)).second;
}

}  // namespace voxcycle
