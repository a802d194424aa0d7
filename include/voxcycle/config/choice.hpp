// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/config/config.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/usage_error.hpp"

#include <map>
#include <string>
#include <vector>

namespace voxcycle {

/// What `text`, given as `name`, stands for in `choices`. @throws UsageError listing them.
template <class Value>
Value choose(std::string const& name, std::string const& text,
             std::map<std::string, Value> const& choices) {
  auto const found = choices.find(text);
  if (found != choices.end()) return found->second;
  std::vector<std::string> names;
  for (auto const& entry : choices) names.push_back(entry.first);
  throw UsageError(name + " = '" + text + "' is not valid. Choose one of " + join(names) + '.');
}

/// The value that `name` has in `choices`. @throws UsageError listing them.
template <class Value>
Value choose(Config const& config, std::string const& name,
             std::map<std::string, Value> const& choices) {
  return choose(name, config.text(name), choices);
}

}  // namespace voxcycle
