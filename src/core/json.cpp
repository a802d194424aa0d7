// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/json.hpp"

#include "voxcycle/core/text.hpp"

#include <cmath>

namespace voxcycle::json {
namespace {

std::string joined(Members const& members, std::string_view separator) {
  std::vector<std::string> parts;
  for (auto const& [name, value] : members) parts.push_back(text(name) + ": " + value);
  return join(parts, separator);
}

}  // namespace

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

std::string boolean(bool value) {
  return value ? "true" : "false";
}

std::string object(Members const& members) {
  return "{" + joined(members, ", ") + "}";
}

std::string document(Members const& members) {
  return "{\n  " + joined(members, ",\n  ") + "\n}\n";
}

std::string array(std::vector<std::string> const& values) {
  return "[" + join(values) + "]";
}

std::string array(std::span<double const> values) {
  std::vector<std::string> texts;
  for (double const value : values) texts.push_back(number(value));
  return array(texts);
}

std::string array(std::span<std::int64_t const> values) {
  std::vector<std::string> texts;
  for (std::int64_t const value : values) texts.push_back(std::to_string(value));
  return array(texts);
}

}  // namespace voxcycle::json
