// SPDX-License-Identifier: BSD-3-Clause
#include "io/hdf5_handle.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/io/versions.hpp"

#include <utility>

namespace voxcycle::hdf5 {
namespace {

/// Keeps the description of the innermost failure, which is the specific one.
herr_t keep_first(unsigned position, H5E_error2_t const* error, void* text) {
  if (position == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
  return 0;
}

/// The library's own reason for the last failure on this thread.
std::string reason() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &text);
  H5Eclear2(H5E_DEFAULT);
  // Driver errors read "file write failed: time = ..., error message = 'No space left on device',
  // buf = ...": the part in quotes says it.
  std::string const mark = "error message = '";
  if (auto const begin = text.find(mark); begin != std::string::npos) {
    auto const from = begin + mark.size();
    text = text.substr(0, text.find(':')) + ": " + text.substr(from, text.find('\'', from) - from);
  }
  return text.empty() ? "no reason given" : text;
}

}  // namespace

Lock enter() {
  static std::recursive_mutex mutex;  // functions that hold it call each other
  std::unique_lock held(mutex);
  thread_local bool const silenced = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
  static_cast<void>(silenced);
  return {std::move(held), {}};
}

void fail(std::string const& label, std::string const& action, std::string const& advice) {
  auto const text = reason();
  // A message or superblock that this library does not know.
  bool const newer = text.find("bad version number") != std::string::npos ||
                     text.find("bad superblock version") != std::string::npos ||
                     text.find("message of unknown") != std::string::npos;
  if (newer) {
    throw Error(label + ": is of a newer HDF5 than the " + hdf5_version() +
                " of this program (HDF5: " + text +
                "). Write it with the bounds of 1.10 (h5py: libver=('earliest', 'v110')), or "
                "convert it with a newer h5repack: h5repack --low=0 --high=2 FILE NEW.");
  }
  throw Error(label + ": " + action + " (HDF5: " + text + "). " + advice);
}

Handle checked(hid_t id, Handle::Close close, std::string const& label, std::string const& action,
               std::string const& advice) {
  if (id < 0) fail(label, action, advice);
  return {id, close};
}

Handle file_access(std::string const& path) {
  Handle access = checked(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, path, "cannot set options", "");
  bool set = H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG) >= 0;
#if H5_VERSION_GE(1, 10, 7)
  // flock fails on some cluster file systems; our files are renamed into place whole and never
  // changed, so that there is nothing to lock.
  set = set && H5Pset_file_locking(access.get(), 0, 1) >= 0;
#endif
  if (!set) fail(path, "cannot set options", "");
  return access;
}

Handle::~Handle() {
  static_cast<void>(close());
}

Handle::Handle(Handle&& other) noexcept
    : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}

Handle& Handle::operator=(Handle&& other) noexcept {
  if (this != &other) {
    static_cast<void>(close());
    id_ = std::exchange(other.id_, H5I_INVALID_HID);
    close_ = other.close_;
  }
  return *this;
}

bool Handle::close() {
  if (id_ < 0) return true;
  auto const lock = enter();
  return close_(std::exchange(id_, H5I_INVALID_HID)) >= 0;
}

}  // namespace voxcycle::hdf5
