// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace voxcycle {

/// Versions of the linked libraries, for `voxcycle info`.
std::string hdf5_version();
std::string png_version();
std::string tiff_version();
std::string zlib_library_version();

}  // namespace voxcycle
