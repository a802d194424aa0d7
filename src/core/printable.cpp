// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/printable.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "core/vformat.hpp"

namespace voxcycle {
namespace {

/// Bytes of the UTF-8 character that the text begins with (Unicode 15, table 3-7); 0: it is none.
std::size_t bytes_of_character(std::string_view text) {
  auto const byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  auto const first = byte(0);
  if (first < 0x80) return 1;
  std::size_t const count = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (first < 0xc2 || first > 0xf4 || text.size() < count) return 0;
  auto const second = byte(1);
  bool const known = (first != 0xe0 || second >= 0xa0) && (first != 0xed || second < 0xa0) &&
                     (first != 0xf0 || second >= 0x90) && (first != 0xf4 || second < 0x90);
  auto const follows = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
  return known && std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(count),
                              follows)
             ? count
             : 0;
}

/// Of one character.
bool is_control(std::string_view character) {
  auto const first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1)
    return (first < 0x20 && first != '\n' && first != '\t') || first == 0x7f;
  return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;  // U+0080 to U+009F
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr char const* digits = "0123456789abcdef";
  std::string shown;
  while (!text.empty()) {
    auto const known = bytes_of_character(text);
    auto const character = text.substr(0, std::max<std::size_t>(1, known));
    if (known > 0 && !is_control(character)) {
      shown += character;
    } else {
      for (char const c : character) {
        auto const byte = static_cast<unsigned char>(c);
        shown += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
      }
    }
    text.remove_prefix(character.size());
  }
  return shown;
}

void print(char const* pattern, ...) {
  std::va_list arguments;
  va_start(arguments, pattern);
  auto const text = vformat(pattern, arguments);
  va_end(arguments);
  std::fputs(printable(text).c_str(), stdout);
}

}  // namespace voxcycle
