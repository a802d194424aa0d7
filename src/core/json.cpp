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

/// For bytes that are no UTF-8, as names of files may have.
constexpr char const* kReplacement = "\xef\xbf\xbd";

/// How many bytes follow the first of a character in UTF-8; 0 for ASCII and for what is none.
std::size_t following_bytes(std::string_view text) {
  auto const first = static_cast<unsigned char>(text.front());
  std::size_t const more = first >= 0xf0 && first < 0xf5   ? 3
                           : first >= 0xe0 && first < 0xf0 ? 2
                           : first >= 0xc2 && first < 0xe0 ? 1
                                                           : 0;
  if (more == 0 || more >= text.size()) return 0;
  // No surrogates, nothing overlong and nothing beyond the last plane.
  auto const second = static_cast<unsigned char>(text[1]);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) {
    return 0;
  }
  for (char const c : text.substr(1, more)) {
    if ((static_cast<unsigned char>(c) & 0xc0U) != 0x80U) return 0;
  }
  return more;
}

}  // namespace

std::string text(std::string_view text) {
  std::string out = "\"";
  for (std::size_t k = 0; k < text.size(); ++k) {
    char const c = text[k];
    if (std::size_t const more = following_bytes(text.substr(k)); more > 0) {
      out += text.substr(k, more + 1);
      k += more;
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      out += kReplacement;
    } else if (c == '"' || c == '\\') {
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
