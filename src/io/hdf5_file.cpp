// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/is_there.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "io/hdf5.hpp"
#include "io/hdf5_sources.hpp"
#include "io/hdf5_write_driver.hpp"
#include <fcntl.h>
#include <unistd.h>

namespace voxcycle::hdf5 {
namespace {

herr_t collect_dataset(hid_t, char const* name, H5O_info_t const* info, void* names) {
  if (info->type == H5O_TYPE_DATASET)
    static_cast<std::vector<std::string>*>(names)->push_back(name);
  return 0;
}

/// @throws Error if the system does not let it be opened, whatever is in it.
void require_openable(std::string const& path) {
  int const file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  VOXCYCLE_REQUIRE(file >= 0, path << ": cannot open (" << std::strerror(errno)
                                   << "). Check permissions, the file system and the limit of open "
                                      "files (ulimit -n).");
  ::close(file);
}

/// Of the file that holds an object: external links lead into others.
std::string path_of(hid_t object, std::string const& otherwise) {
  auto const size = H5Fget_name(object, nullptr, 0);
  if (size <= 0) return otherwise;
  std::string name(static_cast<std::size_t>(size) + 1, '\0');
  H5Fget_name(object, name.data(), name.size());
  name.resize(static_cast<std::size_t>(size));
  return name;
}

/// Creation options without times of creation, so that the same content makes the same file.
Handle timeless(hid_t kind, std::string const& label) {
  Handle creation = checked(H5Pcreate(kind), H5Pclose, label, "cannot set options", "");
  if (H5Pset_obj_track_times(creation.get(), 0) < 0) fail(label, "cannot set options", "");
  return creation;
}

}  // namespace

File File::create(std::string const& path, std::string const& label) {
  auto const lock = enter();
  File file;
  file.label_ = label;
  file.written_ = std::make_shared<int>(0);
  Handle const access = file_access(label);
  use_write_driver(access.get(), file.written_);
  // Formats of 1.8 and later carry checksums of their metadata.
  if (H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_LATEST) < 0) {
    fail(label, "cannot set options", "");
  }
  Handle const creation = timeless(H5P_FILE_CREATE, label);
  hid_t const id = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get());
  file.handle_ = Handle(id, H5Fclose);
  require_written(file.written_, label);
  if (id < 0) fail(label, "cannot make the file", kSpatialAdvice);
  return file;
}

File File::open(std::string const& path, std::string const& advice, External external) {
  auto const lock = enter();
  std::error_code code;
  auto const status = std::filesystem::status(path, code);
  if (!is_there(path)) {
    auto const target = std::filesystem::read_symlink(path, code);
    VOXCYCLE_REQUIRE(code, path << ": is a link to " << target.string()
                                << ", where there is no such file. Correct the link.");
    throw Error(path + ": there is no such file. Check the path, or make it first.");
  }
  VOXCYCLE_REQUIRE(std::filesystem::is_regular_file(status), path << ": is not a regular file.");
  name_in_crash(path);
  Handle const access = file_access(path);
  File file;
  file.label_ = path;
  file.external_ = external;
  auto const id = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get());
  if (id < 0) require_openable(path);
  file.handle_ =
      checked(id, H5Fclose, path, "cannot open as HDF5, the file is truncated or foreign", advice);
  return file;
}

void File::close() {
  auto const lock = enter();
  bool const closed = H5Fflush(handle_.get(), H5F_SCOPE_GLOBAL) >= 0 && handle_.close();
  if (!closed) fail(label_, "cannot close", kSpatialAdvice);
  require_written(written_, label_);
}

void File::make_groups(std::string const& name) {
  for (auto slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1)) {
    std::string const group = name.substr(0, slash);
    if (has(group)) continue;
    Handle const creation = timeless(H5P_GROUP_CREATE, label_);
    checked(H5Gcreate2(handle_.get(), group.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
            H5Gclose, label_, "cannot make the group " + group, kSpatialAdvice);
  }
}

Dataset File::create_dataset(std::string const& name, Number number, Shape const& shape) {
  auto const lock = enter();
  make_groups(name);
  Dataset made;
  made.label_ = label_ + ": " + name;
  made.written_ = written_;
  made.number_ = number;
  made.shape_ = shape;
  Handle const spatial = make_spatial(shape, made.label_);
  Handle const creation = timeless(H5P_DATASET_CREATE, made.label_);
  std::string const action = "cannot make the array";
  // Every element is written once: no filling beforehand.
  if (H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER) < 0) fail(made.label_, action, "");
  made.handle_ = checked(H5Dcreate2(handle_.get(), name.c_str(), file_type(number), spatial.get(),
                                    H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                         H5Dclose, made.label_, action, kSpatialAdvice);
  return made;
}

bool File::has(std::string const& name) const {
  auto const lock = enter();
  htri_t const found = H5Lexists(handle_.get(), name.c_str(), H5P_DEFAULT);
  if (found < 0) fail(label_, "cannot look for " + name, kDamageAdvice);
  return found > 0;
}

std::string File::dead_link(std::string const& name) const {
  auto const lock = enter();
  for (auto slash = name.find('/');; slash = name.find('/', slash + 1)) {
    auto const part = name.substr(0, slash);
    H5L_info_t link{};
    if (part.empty()) continue;
    if (H5Lget_info(handle_.get(), part.c_str(), &link, H5P_DEFAULT) < 0) return {};
    if (H5Oexists_by_name(handle_.get(), part.c_str(), H5P_DEFAULT) <= 0) {
      std::string value(link.type == H5L_TYPE_HARD ? 0 : link.u.val_size, '\0');
      H5Lget_val(handle_.get(), part.c_str(), value.data(), value.size(), H5P_DEFAULT);
      if (link.type != H5L_TYPE_EXTERNAL)
        return '/' + part + " leads to " + value.substr(0, value.find('\0'));
      char const *file = "", *object = "";
      H5Lunpack_elink_val(value.data(), value.size(), nullptr, &file, &object);
      return '/' + part + " leads to " + object + " in " + file;
    }
    if (slash == std::string::npos) return {};
  }
}

void File::require_inside(std::string const& name) const {
  if (external_ == External::refused) require_no_external_link(handle_.get(), name, label_);
}

bool File::has_dataset(std::string const& name) const {
  auto const lock = enter();
  require_inside(name);
  // The link, and what it leads to.
  if (H5Lexists(handle_.get(), name.c_str(), H5P_DEFAULT) <= 0 ||
      H5Oexists_by_name(handle_.get(), name.c_str(), H5P_DEFAULT) <= 0) {
    return false;
  }
  Handle const object = checked(H5Oopen(handle_.get(), name.c_str(), H5P_DEFAULT), H5Oclose, label_,
                                "cannot open " + name, kDamageAdvice);
  return H5Iget_type(object.get()) == H5I_DATASET;
}

/// Opens `name` as `array`. @return its type of numbers
Handle File::open_array(std::string const& name, Array& array) const {
  auto const lock = enter();
  array.label_ = label_ + ": " + name;
  std::string const action = "cannot open the array";
  auto const owned = [&](hid_t id, Handle::Close closer) {
    return checked(id, closer, array.label_, action, kDamageAdvice);
  };
  require_inside(name);
  array.handle_ = owned(H5Dopen2(handle_.get(), name.c_str(), H5P_DEFAULT), H5Dclose);
  require_sources(array.handle_.get(), path_of(array.handle_.get(), label_), array.label_,
                  external_);
  Handle type = owned(H5Dget_type(array.handle_.get()), H5Tclose);
  Handle const spatial = owned(H5Dget_space(array.handle_.get()), H5Sclose);
  int const rank = H5Sget_simple_extent_ndims(spatial.get());
  if (rank < 0) fail(array.label_, action, kDamageAdvice);
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  if (rank > 0) H5Sget_simple_extent_dims(spatial.get(), extents.data(), nullptr);
  array.shape_.assign(extents.begin(), extents.end());
  return type;
}

Dataset File::open_dataset(std::string const& name) const {
  auto const lock = enter();
  Dataset opened;
  Handle const type = open_array(name, opened);
  opened.number_ = number_in_file(type.get(), opened.label_);
  return opened;
}

NumberArray File::open_numbers(std::string const& name) const {
  auto const lock = enter();
  NumberArray opened;
  Handle const type = open_array(name, opened);
  auto const kind = H5Tget_class(type.get());
  VOXCYCLE_REQUIRE(kind == H5T_INTEGER || kind == H5T_FLOAT,
                   opened.label_ << ": holds no plain numbers (but texts, compounds or others). "
                                    "Store integers or floating-point numbers.");
  return opened;
}

Group File::create_group(std::string const& name) {
  auto const lock = enter();
  make_groups(name + "/");
  return open_group(name);
}

Group File::open_group(std::string const& name) const {
  auto const lock = enter();
  Group group;
  group.label_ = label_ + ": " + name;
  require_inside(name);
  group.handle_ = checked(H5Gopen2(handle_.get(), name.c_str(), H5P_DEFAULT), H5Gclose,
                          group.label_, "cannot open the group", kDamageAdvice);
  return group;
}

std::vector<std::string> File::dataset_names() const {
  auto const lock = enter();
  std::vector<std::string> names;
  if (H5Ovisit2(handle_.get(), H5_INDEX_NAME, H5_ITER_INC, collect_dataset, &names,
                H5O_INFO_BASIC) < 0) {
    fail(label_, "cannot list the arrays", kDamageAdvice);
  }
  std::sort(names.begin(), names.end());
  return names;
}

void require_format(File const& file, std::string const& format, std::int64_t version) {
  VOXCYCLE_REQUIRE(file.has_attribute("format") && file.read_text_attribute("format") == format,
                   file.path() << ": is an HDF5 file, but no " << format << ". Check the path.");
  std::int64_t const found = file.read_attribute<std::int64_t>("version", 1)[0];
  VOXCYCLE_REQUIRE(found == version, file.path() << ": is " << format << " version " << found
                                                 << ", but this program reads version " << version
                                                 << ". Make the file again.");
}

}  // namespace voxcycle::hdf5
