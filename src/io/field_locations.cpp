// SPDX-License-Identifier: BSD-3-Clause
#include "io/field_locations.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <regex>

#include "io/field_formats.hpp"
#include "io/slice_files.hpp"

namespace voxcycle {
namespace {

/// At the commas but for those of a raw file's shape.
std::vector<std::string> parts_of(std::string const& list) {
  static std::regex const part(R"([^,]+:\d+,\d+,\d+:\w+|[^,]+)");
  std::vector<std::string> parts;
  for (std::sregex_iterator it(list.begin(), list.end(), part), end; it != end; ++it) {
    auto const text = it->str();
    auto const begin = text.find_first_not_of(" \t");
    if (begin == std::string::npos) continue;
    parts.push_back(text.substr(begin, text.find_last_not_of(" \t") + 1 - begin));
  }
  return parts;
}

/// Names that say alone what they are.
bool is_field_name(std::string const& name) {
  return is_tiff_name(name) || name.ends_with(".npy") || name.ends_with(".npz") ||
         name.ends_with(".vtkhdf");
}

/// Whether the files are the planes of one field.
bool are_slices(std::vector<std::string> const& files) {
  return std::all_of(files.begin(), files.end(), is_tiff_name) &&
         (files.size() > 1 && read_tiff_field(files.front()).shape.front() == 1);
}

std::vector<std::string> expanded(std::string const& part) {
  if (is_folder(part)) {
    auto const files = files_in(part, is_field_name);
    VOXCYCLE_REQUIRE(!files.empty(), part
                                         << ": is a folder without fields (.npy, .npz, .vtkhdf, "
                                            ".tif). Name their files, or a pattern in their place, "
                                            "e.g. "
                                         << part << "/*.h5:/nu.");
    return are_slices(files) ? std::vector{part} : files;
  }
  auto const last = part.find_last_of("*?");
  if (last == std::string::npos) return {part};
  auto const colon = std::min(part.find(':', last), part.size());
  auto files = files_like(part.substr(0, colon));
  VOXCYCLE_REQUIRE(!files.empty(), part << ": fits no file. Correct the pattern.");
  if (are_slices(files)) return {part};
  std::vector<std::string> all;
  for (auto const& file : files) {
    auto const found = is_folder(file) ? expanded(file) : std::vector{file + part.substr(colon)};
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

}  // namespace

std::vector<std::string> field_locations(std::string const& list) {
  std::vector<std::string> all;
  for (auto const& part : parts_of(list)) {
    auto const found = expanded(part);
    all.insert(all.end(), found.begin(), found.end());
  }
  VOXCYCLE_REQUIRE(!all.empty(), "'" << list
                                     << "' names no fields. Give FILE.h5:/dataset, FILE.npy, a "
                                        "folder, or a list of them.");
  return all;
}

}  // namespace voxcycle
