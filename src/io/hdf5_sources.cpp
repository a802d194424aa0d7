// SPDX-License-Identifier: BSD-3-Clause
#include "io/hdf5_sources.hpp"

#include "voxcycle/core/error.hpp"

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <vector>

#include "io/hdf5_handle.hpp"

namespace voxcycle::hdf5 {
namespace {

namespace fs = std::filesystem;

/// Sources that are virtual in their turn, and no further.
constexpr int kMostDepth = 8;

/// The directories in an environment variable, ${ORIGIN} being `origin`.
std::vector<fs::path> directories_in(char const* variable, fs::path const& origin) {
  std::vector<fs::path> found;
  char const* const text = std::getenv(variable);
  std::string rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    auto const colon = std::min(rest.find(':'), rest.size());
    std::string const mark = "${ORIGIN}";
    auto const one = rest.substr(0, colon);
    found.push_back(one.starts_with(mark) ? origin / ("." + one.substr(mark.size()))
                                          : fs::path(one));
    rest.erase(0, colon + 1);
  }
  return found;
}

/// Where HDF5 looks for `name`; "" if it is in none of these places.
fs::path find_file(std::string const& name, std::vector<fs::path> const& places) {
  std::error_code none;
  if (fs::path(name).is_absolute() && fs::exists(name, none)) return name;
  for (auto const& place : places) {
    auto path = place / (fs::path(name).is_absolute() ? fs::path(name).filename() : fs::path(name));
    if (fs::exists(path, none)) return path;
  }
  return {};
}

/// What an H5Pget_virtual_...name function gives for a mapping.
template <class Get>
std::string name_of(Get const& get, hid_t properties, std::size_t index) {
  auto const size = get(properties, index, nullptr, 0);
  if (size <= 0) return {};
  std::string name(static_cast<std::size_t>(size) + 1, '\0');
  get(properties, index, name.data(), name.size());
  name.resize(static_cast<std::size_t>(size));
  return name;
}

/// What is known of a dataset beside itself.
struct Place {
  fs::path path;  ///< of the file that holds it
  std::string label;
  External external;
  int depth;  ///< how many datasets were made of others on the way
};

void require_whole(hid_t dataset, Place const& place);

[[noreturn]] void fail_external(std::string const& label, std::string const& source) {
  throw Error(label + ": takes values from another file, " + source +
              " (whoever made it could have chosen any of yours). Copy the values into the file; "
              "solve and conductivity take them with --external.");
}

/// A callback of HDF5 for links into other files, which it then does not follow.
herr_t keep_target(char const*, char const*, char const* file, char const* object, unsigned*, hid_t,
                   void* target) {
  *static_cast<std::string*>(target) = std::string(file) + ":" + object;
  return -1;
}

[[noreturn]] void fail_source(std::string const& label, std::string const& source,
                              std::string const& problem) {
  throw Error(label + ": takes values from " + source + ", " + problem +
              " (HDF5 would put a fill value in their place). Bring that back, or make the dataset "
              "again.");
}

void require_source(std::string const& file_name, std::string const& dataset_name,
                    Place const& place) {
  auto const& [path, label, external, depth] = place;
  if (external == External::refused && file_name != ".") {
    fail_external(label, file_name + ":/" + dataset_name);
  }
  std::error_code none;
  auto places = directories_in("HDF5_VDS_PREFIX", fs::absolute(path).parent_path());
  places.insert(places.end(), {path.parent_path(), ".", fs::canonical(path, none).parent_path()});
  auto const source = file_name == "." ? path : find_file(file_name, places);
  if (source.empty()) fail_source(label, file_name, "a file that is missing");
  Handle const access = file_access(label);
  Handle const file(H5Fopen(source.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
  if (file.get() < 0) fail_source(label, file_name, "a file that does not open as HDF5");
  if (external == External::refused) require_no_external_link(file.get(), dataset_name, label);
  Handle const dataset(H5Dopen2(file.get(), dataset_name.c_str(), H5P_DEFAULT), H5Dclose);
  auto const text = file_name == "." ? dataset_name : file_name + ":/" + dataset_name;
  if (dataset.get() < 0) fail_source(label, text, "a dataset that is missing");
  require_whole(dataset.get(), {source, label, external, depth + 1});
}

void require_external(hid_t properties, Place const& place) {
  auto const& label = place.label;
  std::error_code none;
  auto places = directories_in("HDF5_EXTFILE_PREFIX", fs::absolute(place.path).parent_path());
  if (places.empty()) places.emplace_back(".");
  int const count = H5Pget_external_count(properties);
  for (int k = 0; k < count; ++k) {
    std::string name(4096, '\0');
    off_t offset = 0;
    hsize_t size = 0;
    H5Pget_external(properties, static_cast<unsigned>(k), name.size() - 1, name.data(), &offset,
                    &size);
    name.resize(name.find('\0'));
    if (place.external == External::refused) fail_external(label, name);
    auto const file = find_file(name, places);
    if (file.empty()) fail_source(label, name, "a file that is missing");
    auto const bytes = fs::file_size(file, none);
    bool const whole = size == H5F_UNLIMITED || static_cast<hsize_t>(offset) + size <= bytes;
    if (!whole) fail_source(label, name, "a file that is too short");
  }
}

void require_whole(hid_t dataset, Place const& place) {
  VOXCYCLE_REQUIRE(place.depth < kMostDepth,
                   place.label << ": is made of datasets that are made of others, " << kMostDepth
                               << " deep. Store it as it is.");
  Handle const made(H5Dget_create_plist(dataset), H5Pclose);
  auto const layout = H5Pget_layout(made.get());
  if (layout == H5D_CONTIGUOUS) require_external(made.get(), place);
  if (layout != H5D_VIRTUAL) return;
  std::size_t mappings = 0;
  H5Pget_virtual_count(made.get(), &mappings);
  // Of names with a block's number HDF5 takes as many as there are: the shape tells.
  std::regex const numbered("%[0-9]*b");
  for (std::size_t k = 0; k < mappings; ++k) {
    auto const file = name_of(H5Pget_virtual_filename, made.get(), k);
    auto const name = name_of(H5Pget_virtual_dsetname, made.get(), k);
    bool const known = !std::regex_search(file + name, numbered);
    if (!known && place.external == External::refused)
      fail_external(place.label, std::string(file).append(":/").append(name));
    if (known) require_source(file, name, place);
  }
}

}  // namespace

void require_sources(hid_t dataset, std::string const& path, std::string const& label,
                     External external) {
  auto const lock = enter();
  require_whole(dataset, {path, label, external, 0});
}

void require_no_external_link(hid_t file, std::string const& name, std::string const& label) {
  auto const lock = enter();
  std::string target;
  Handle const access(H5Pcreate(H5P_LINK_ACCESS), H5Pclose);
  H5Pset_elink_cb(access.get(), keep_target, &target);
  H5Oexists_by_name(file, name.c_str(), access.get());
  if (!target.empty()) fail_external(label + ": " + name, target);
}

}  // namespace voxcycle::hdf5
