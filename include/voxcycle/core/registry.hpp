// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/text.hpp"
#include "voxcycle/core/usage_error.hpp"

#include <string>
#include <utility>
#include <vector>

namespace voxcycle {

/// What is chosen by name, one line each: losses, optimisers, cycles, coefficient families, ...
template <class Value>
class Registry {
 public:
  /// @param kind what one of them is called in messages, e.g. "loss"
  Registry(std::string kind, std::vector<std::pair<std::string, Value>> entries)
      : kind_(std::move(kind)), entries_(std::move(entries)) {}

  /// In the order of the list.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (auto const& entry : entries_) all.push_back(entry.first);
    return all;
  }

  /// @return null where there is none of this name.
  Value const* find(std::string const& name) const {
    for (auto const& entry : entries_) {
      if (entry.first == name) return &entry.second;
    }
    return nullptr;
  }

  /// @throws UsageError that lists the names where there is none of this one.
  Value const& at(std::string const& name) const {
    auto const* value = find(name);
    if (value != nullptr) return *value;
    throw UsageError(kind_ + " '" + name + "' is unknown. Choose one of " + join(names()) + '.');
  }

 private:
  std::string kind_;
  std::vector<std::pair<std::string, Value>> entries_;
};

}  // namespace voxcycle
