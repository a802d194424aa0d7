// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mutex>
#include <string>

#include "io/hdf5_crash.hpp"
#include <hdf5.h>

namespace voxcycle::hdf5 {

/// Owns one HDF5 identifier and closes it, whatever its kind.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle() = default;
  Handle(hid_t id, Close closer) : id_(id), close_(closer) {}
  ~Handle();
  Handle(Handle&& other) noexcept;
  Handle& operator=(Handle&& other) noexcept;
  hid_t get() const { return id_; }
  /// Closes now. @return whether HDF5 could.
  [[nodiscard]] bool close();

 private:
  hid_t id_ = H5I_INVALID_HID;
  Close close_ = nullptr;
};

/// Held while a thread calls into HDF5 and asks it for its reasons.
struct Lock {
  std::unique_lock<std::recursive_mutex> held;
  InLibrary here;
};

/// Waits until no other thread is in HDF5: shards are read on another thread than checkpoints are
/// written, and many builds of HDF5 bear one thread only (libhdf5-openmpi of Debian; those that
/// bear more let them in one by one as well). Also stops HDF5 from printing its error stack on
/// stderr, which it does unless told not to on each thread. Every function of this directory that
/// calls into HDF5 begins with this, or is called only by those that do.
[[nodiscard]] Lock enter();

/// Throws Error "<label>: <action> (HDF5: <its own reason>). <advice>".
[[noreturn]] void fail(std::string const& label, std::string const& action,
                       std::string const& advice);

/// Takes over a new identifier. @throws Error as fail does if HDF5 could not make it.
Handle checked(hid_t id, Handle::Close close, std::string const& label, std::string const& action,
               std::string const& advice);

/// File access options: the file goes with all that is open in it. HDF5 opens a file again only
/// with the same ones.
Handle file_access(std::string const& path);

inline constexpr char const* kSpatialAdvice = "Check the free space and the permissions.";
inline constexpr char const* kDamageAdvice = "The file may be damaged; make it again.";

}  // namespace voxcycle::hdf5
