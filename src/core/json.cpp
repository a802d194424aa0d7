// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/json.hpp"

#include <utility>

namespace voxcycle {

std::string line(Json const& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string document(Json const& object) {
  std::string text = "{";
  std::string separator = "\n  ";
  for (auto const& [name, value] : object.items()) {
    text += std::exchange(separator, ",\n  ") + line(name) + ": ";
    if (value.is_array() && !value.empty() && value.front().is_object()) {
      std::string between = "[\n    ";
      for (auto const& entry : value) text += std::exchange(between, ",\n    ") + line(entry);
      text += ']';
    } else {
      text += line(value);
    }
  }
  return text + "\n}\n";
}

}  // namespace voxcycle
