// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/is_there.hpp"

#include "voxcycle/core/error.hpp"

#include <cerrno>
#include <cstring>

#include <sys/stat.h>

namespace voxcycle {

bool is_there(std::string const& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return true;
  VOXCYCLE_REQUIRE(errno == ENOENT, path << ": cannot be reached (" << std::strerror(errno)
                                         << "). Check the path, and the permissions on the way.");
  return false;
}

}  // namespace voxcycle
