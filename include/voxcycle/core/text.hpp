// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace voxcycle {

/// `printf`-style formatting into a string.
[[gnu::format(printf, 1, 2)]] std::string format(char const* pattern, ...);

/// @return e.g. "0.27 %" for 0.0027, "8.6e-06 %" for 8.6e-8, "-" for what is not finite.
std::string format_percent(double fraction);
/// @return e.g. "0.25 ms", "12.3 s", "4 min 05 s", "2 h 10 min", "-" for what is not finite.
std::string format_seconds(double seconds);
/// @return the ends of a range with so many significant digits, or as many more as tell them apart:
/// "400", "400.25".
std::pair<std::string, std::string> format_ends(double low, double high, int digits);
/// @return e.g. "1 process", "4 processes".
std::string counted(std::int64_t count, char const* one, char const* many);
/// @return e.g. "1.5 MiB".
std::string format_bytes(double bytes);

/// Splits at commas and trims blanks; "" gives an empty list.
std::vector<std::string> split_list(std::string_view text);

/// @return the number that all of `text` is, e.g. -3 for "-3"; nothing for "", "16abc", " 3", what
/// is too large or, of whole numbers, "1.5". Of double also "inf" and "nan".
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  auto const* end = text.data() + text.size();
  auto const [rest, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc{} || rest != end) return {};
  return value;
}

/// @return the shortest text that parse_number reads as this very number.
std::string shortest_text(double value);

/// @return the names nearest to `word` by edit distance, best first, at most `most`.
std::vector<std::string> nearest_names(std::string_view word, std::vector<std::string> const& names,
                                       std::size_t maximum = 3);

/// @return the name that `word` is a slip of the pen from ("tain": train), or an abbreviation or an
/// extension of ("iter", "output": iterations, out); nothing
/// where none is so near.
std::optional<std::string> mistyped_name(std::string_view word,
                                         std::vector<std::string> const& names);

/// @return the names joined as "a, b, c".
std::string join(std::vector<std::string> const& names, std::string_view separator = ", ");

}  // namespace voxcycle
