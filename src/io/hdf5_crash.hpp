// SPDX-License-Identifier: BSD-3-Clause
// HDF5 itself does not survive every damaged file (1.10.8 ends by SIGSEGV at an index whose
// address is undefined). Then at least the file is named.
#pragma once

#include <string>

namespace voxcycle::hdf5 {

/// This thread is in the library for as long as it lives.
class InLibrary {
 public:
  InLibrary() { ++depth; }
  ~InLibrary() { --depth; }
  InLibrary(InLibrary const&) = delete;
  InLibrary& operator=(InLibrary const&) = delete;
  static bool now() { return depth > 0; }

 private:
  static thread_local int depth;
};

/// Should a signal end the program while it is in the library, standard error says that `path` was
/// opened last.
void name_in_crash(std::string const& path);

}  // namespace voxcycle::hdf5
