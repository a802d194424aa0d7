// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/io/versions.hpp"

#include "io/hdf5_handle.hpp"
#include <hdf5.h>
#include <png.h>
#include <tiffio.h>
#include <zlib.h>
#undef zlib_version  // an alias for the function, in zlib.h

namespace voxcycle {

std::string hdf5_version() {
  auto const lock = hdf5::enter();
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  H5get_libversion(&major, &minor, &release);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

std::string png_version() {
  return png_get_libpng_ver(nullptr);
}

std::string tiff_version() {
  // "LIBTIFF, Version 4.5.0", then lines of copyright.
  std::string const text = TIFFGetVersion();
  auto const begin = text.find_first_of("0123456789");
  return text.substr(begin, text.find('\n') - begin);
}

std::string zlib_library_version() {
  return zlibVersion();
}

}  // namespace voxcycle
