// SPDX-License-Identifier: BSD-3-Clause
#include "io/slice_files.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include <glob.h>

namespace voxcycle {
namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// The number without leading zeros that begins at `place`, which then stands behind it.
std::string number_at(std::string const& text, std::size_t& place) {
  auto const begin = place;
  while (place < text.size() && is_digit(text[place])) ++place;
  auto const digits = std::find_if(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                   text.begin() + static_cast<std::ptrdiff_t>(place),
                                   [](char c) { return c != '0'; });
  return {digits, text.begin() + static_cast<std::ptrdiff_t>(place)};
}

/// Numbers in names by their values, the rest by letters.
bool before(std::string const& a, std::string const& b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      auto const left = number_at(a, i), right = number_at(b, j);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i;
      ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

/// The parts of a list, all of them TIFF files; else nothing.
std::vector<std::string> listed(std::string const& location) {
  auto const parts = split_list(location);
  bool const all = std::all_of(parts.begin(), parts.end(), is_tiff_name);
  return all && parts.size() > 1 ? parts : std::vector<std::string>();
}

}  // namespace

bool is_tiff_name(std::string const& name) {
  std::string end = name.substr(name.size() - std::min<std::size_t>(name.size(), 5));
  std::transform(end.begin(), end.end(), end.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return end.ends_with(".tif") || end.ends_with(".tiff");
}

bool is_folder(std::string const& path) {
  std::error_code none;
  return std::filesystem::is_directory(path, none);
}

std::vector<std::string> files_in(std::string const& folder, bool (*takes)(std::string const&)) {
  std::vector<std::string> found;
  for (auto const& entry : std::filesystem::directory_iterator(folder)) {
    if (takes(entry.path().string())) found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end(), before);
  return found;
}

std::vector<std::string> files_like(std::string const& pattern) {
  glob_t matched{};
  std::vector<std::string> found;
  if (::glob(pattern.c_str(), 0, nullptr, &matched) == 0) {
    found.assign(matched.gl_pathv, matched.gl_pathv + matched.gl_pathc);
  }
  ::globfree(&matched);
  std::sort(found.begin(), found.end(), before);
  return found;
}

std::vector<std::string> slice_files(std::string const& location) {
  std::error_code none;
  bool const folder = is_folder(location);
  if (!folder && std::filesystem::exists(location, none)) return {location};
  if (auto list = listed(location); !list.empty()) return list;
  bool const pattern = location.find_first_of("*?[") != std::string::npos;
  if (!folder && !pattern) return {location};
  auto found = folder ? files_in(location, is_tiff_name) : files_like(location);
  VOXCYCLE_REQUIRE(!found.empty(), location << (folder ? ": is a folder without TIFF files (*.tif)"
                                                       : ": fits no file")
                                            << ". Name a file, a folder of slices, or a pattern "
                                               "in quotes, e.g. 'slices/*.tif'.");
  return found;
}

}  // namespace voxcycle
