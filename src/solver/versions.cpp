// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/versions.hpp"

#include "voxcycle/core/error.hpp"

#include <fftw3.h>

namespace voxcycle {

std::string fftw_library_version() {
  std::string const version = fftw_version;
  VOXCYCLE_REQUIRE(
      version.rfind("fftw-3.3", 0) == 0,
      "the FFTW functions come from '" << version << "', not from FFTW 3.3. Link FFTW first.");
  return version;
}

}  // namespace voxcycle
