// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <numeric>

#include "core/vformat.hpp"

namespace voxcycle {

std::string vformat(char const* pattern, std::va_list arguments) {
  std::va_list copy;
  va_copy(copy, arguments);
  int const size = std::vsnprintf(nullptr, 0, pattern, copy);
  va_end(copy);
  std::string text(static_cast<std::size_t>(std::max(size, 0)), '\0');
  std::vsnprintf(text.data(), text.size() + 1, pattern, arguments);
  return text;
}

std::string format(char const* pattern, ...) {
  std::va_list arguments;
  va_start(arguments, pattern);
  auto text = vformat(pattern, arguments);
  va_end(arguments);
  return text;
}

std::string format_percent(double fraction) {
  if (!std::isfinite(fraction)) return "-";
  double const percent = 100 * fraction;
  double const size = std::abs(percent);
  if (size >= 1e5 || (size < 1e-4 && size > 0)) return format("%.1e %%", percent);
  // Two significant digits of small values.
  bool const small = size < 1 && size > 0;
  int const decimals = small ? std::max(1 - static_cast<int>(std::floor(std::log10(size))), 2) : 2;
  return format("%.*f %%", decimals, percent);
}

std::pair<std::string, std::string> format_ends(double low, double high, int digits) {
  double const share = std::max(std::abs(low), std::abs(high)) / (high - low);
  if (share > 1.0 && std::isfinite(share)) {
    digits = std::clamp(2 + static_cast<int>(std::ceil(std::log10(share))), digits, 17);
  }
  return {format("%.*g", digits, low), format("%.*g", digits, high)};
}

std::string format_seconds(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  if (seconds < 0.9995) return format("%.3g ms", 1e3 * seconds);
  if (seconds < 60) return format("%.1f s", seconds);
  auto const whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 3600) return format("%ld min %02ld s", long(whole / 60), long(whole % 60));
  return format("%ld h %02ld min", long(whole / 3600), long(whole % 3600 / 60));
}

std::string counted(std::int64_t count, char const* one, char const* many) {
  return std::to_string(count) + ' ' + (count == 1 ? one : many);
}

std::string format_bytes(double bytes) {
  char const* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit) bytes /= 1024;
  return format(unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    auto const comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    auto const is_blank = [](char c) { return c == ' ' || c == '\t'; };
    while (!part.empty() && is_blank(part.front())) part.remove_prefix(1);
    while (!part.empty() && is_blank(part.back())) part.remove_suffix(1);
    parts.emplace_back(part);
  }
  return parts;
}

std::string shortest_text(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t const above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view word, std::vector<std::string> const& names,
                                       std::size_t maximum) {
  std::vector<std::string> sorted = names;
  std::stable_sort(sorted.begin(), sorted.end(), [&](auto const& a, auto const& b) {
    return edit_distance(word, a) < edit_distance(word, b);
  });
  sorted.resize(std::min(maximum, sorted.size()));
  return sorted;
}

std::optional<std::string> mistyped_name(std::string_view word,
                                         std::vector<std::string> const& names) {
  constexpr std::size_t fewest_letters = 3;
  for (auto const& name : names) {
    auto const shorter = std::min(word.size(), name.size());
    if (shorter >= fewest_letters && word.substr(0, shorter) == name.substr(0, shorter))
      return name;
  }
  auto const nearest = nearest_names(word, names, 1);
  bool const near = !nearest.empty() &&
                    edit_distance(word, nearest.front()) <= std::min(word.size() + 1, 6UL) / 3;
  return near ? std::optional(nearest.front()) : std::nullopt;
}

std::string join(std::vector<std::string> const& names, std::string_view separator) {
  std::string text;
  for (auto const& name : names) {
    if (!text.empty()) text += separator;
    text += name;
  }
  return text;
}

}  // namespace voxcycle
