// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

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

/// Stops HDF5 from printing its error stack on stderr, which it does unless told not to on each
/// thread: every call into HDF5 comes after one of this.
void silence();

/// Throws Error "<label>: <action> (HDF5: <its own reason>). <advice>".
[[noreturn]] void fail(std::string const& label, std::string const& action,
                       std::string const& advice);

/// Takes over a new identifier. @throws Error as fail does if HDF5 could not make it.
Handle checked(hid_t id, Handle::Close close, std::string const& label, std::string const& action,
               std::string const& advice);

inline constexpr char const* kSpaceAdvice = "Check the free space and the permissions.";
inline constexpr char const* kDamageAdvice = "The file may be damaged; make it again.";

}  // namespace voxcycle::hdf5
