// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/cycle/cycle.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/registry.hpp"
#include "voxcycle/core/text.hpp"

namespace voxcycle {
namespace {

/// One line a cycle.
Registry<LevelPath (*)(int)> const kCycles{"cycle",
                                           {
                                               {"half_v", half_v_path},
                                               {"v", v_path},
                                               {"w", w_path},
                                               {"f", f_path},
                                           }};

}  // namespace

std::vector<std::string> cycle_names() {
  return kCycles.names();
}

LevelPath make_path(std::string const& name, int levels, LevelPath const& custom) {
  VOXCYCLE_REQUIRE(levels >= 1, "cycle: no levels. Set cycle.levels.");
  if (name != "custom") {
    auto const* make = kCycles.find(name);
    VOXCYCLE_REQUIRE(make != nullptr, "cycle '" << name << "' is unknown. Choose one of "
                                                << join(cycle_names()) << ", custom.");
    VOXCYCLE_REQUIRE(custom.empty(), "cycle: cycle.path is given, but the cycle '"
                                         << name
                                         << "' has a path of its own (yours would be ignored). Set "
                                         << "cycle.name = custom, or leave cycle.path empty.");
    return (*make)(levels);
  }
  VOXCYCLE_REQUIRE(!custom.empty(), "cycle: a custom cycle needs a path. Set cycle.path.");
  for (std::size_t stage = 0; stage < custom.size(); ++stage) {
    VOXCYCLE_REQUIRE(custom[stage] >= 0 && custom[stage] < levels,
                     "cycle: stage " << stage + 1 << " of the path is level " << custom[stage] + 1
                                     << ", but there are levels 1 to " << levels << '.');
  }
  return custom;
}

void append_path(LevelPath& path, LevelPath const& tail) {
  auto begin = tail.begin();
  if (!path.empty() && !tail.empty() && path.back() == tail.front()) ++begin;
  path.insert(path.end(), begin, tail.end());
}

}  // namespace voxcycle
