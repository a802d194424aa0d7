// SPDX-License-Identifier: BSD-3-Clause
#include "json.hpp"

#include "voxcycle/core/text.hpp"

#include <cmath>

namespace voxcycle::json {

std::string text(std::string_view text) {
  std::string out = "\"";
  for (char const c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += format("\\u%04x", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string number(double value) {
  return std::isfinite(value) ? format("%.9g", value) : "null";
}

std::string object(std::vector<std::pair<std::string, std::string>> const& members) {
  std::string out;
  for (auto const& [name, value] : members) {
    out += (out.empty() ? "" : ", ") + text(name) + ": " + value;
  }
  return "{" + out + "}";
}

std::string array(std::vector<std::string> const& values) {
  return "[" + join(values) + "]";
}

std::string array(std::vector<double> const& values) {
  std::vector<std::string> texts;
  texts.reserve(values.size());
  for (double const value : values) texts.push_back(number(value));
  return array(texts);
}

}  // namespace voxcycle::json
