// SPDX-License-Identifier: BSD-3-Clause
#include "io/hdf5_write_driver.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "io/hdf5_handle.hpp"
#include <fcntl.h>
#include <unistd.h>

#if __has_include(<H5FDdevelop.h>)
#include <H5FDdevelop.h>
#endif

namespace voxcycle::hdf5 {
namespace {

constexpr haddr_t kMaxBytes = std::numeric_limits<off_t>::max();

/// An open file. HDF5 sees its first member only.
struct OpenFile {
  H5FD_t base{};
  WriteStatus status;
  int descriptor = -1;
  haddr_t allocated = 0;  ///< bytes that HDF5 counts as in use
  haddr_t size = 0;       ///< bytes that the file has, or would have on a larger disk

  void note(bool success) {
    if (!success && *status == 0) *status = errno;
  }
  bool failed() const { return *status != 0; }
};

OpenFile& self(H5FD_t* file) {
  return *reinterpret_cast<OpenFile*>(file);
}
OpenFile const& self(H5FD_t const* file) {
  return *reinterpret_cast<OpenFile const*>(file);
}

H5FD_t* open_file(char const* name, unsigned, hid_t access, haddr_t) {
  auto const& status = **static_cast<WriteStatus const* const*>(H5Pget_driver_info(access));
  int const descriptor = ::open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    *status = errno;
    return nullptr;
  }
  auto* file = new OpenFile;
  file->status = status;
  file->descriptor = descriptor;
  return &file->base;
}

herr_t close_file(H5FD_t* file) {
  std::unique_ptr<OpenFile> const owned(&self(file));
  owned->note(::close(owned->descriptor) == 0);  // network disks may report here that they are full
  return 0;
}

herr_t query(H5FD_t const*, unsigned long* features) {
  *features = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
              H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

haddr_t get_allocated(H5FD_t const* file, H5FD_mem_t) {
  return self(file).allocated;
}

herr_t set_allocated(H5FD_t* file, H5FD_mem_t, haddr_t bytes) {
  self(file).allocated = bytes;
  return 0;
}

haddr_t get_size(H5FD_t const* file, H5FD_mem_t) {
  return self(file).size;
}

/// Places never written read as zeros.
herr_t read(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t place, std::size_t count, void* to) {
  auto* bytes = static_cast<char*>(to);
  while (count > 0) {
    ssize_t const got = ::pread(self(file).descriptor, bytes, count, static_cast<off_t>(place));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    bytes += got;
    place += static_cast<haddr_t>(got);
    count -= static_cast<std::size_t>(got);
  }
  std::memset(bytes, 0, count);
  return 0;
}

herr_t write(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t place, std::size_t count, void const* from) {
  OpenFile& out = self(file);
  out.size = std::max(out.size, place + count);
  auto const* bytes = static_cast<char const*>(from);
  while (count > 0 && !out.failed()) {
    ssize_t const put = ::pwrite(out.descriptor, bytes, count, static_cast<off_t>(place));
    if (put < 0 && errno == EINTR) continue;
    out.note(put >= 0);
    if (put < 0) break;
    bytes += put;
    place += static_cast<haddr_t>(put);
    count -= static_cast<std::size_t>(put);
  }
  return 0;
}

herr_t truncate(H5FD_t* file, hid_t, hbool_t) {
  OpenFile& out = self(file);
  if (out.size != out.allocated && !out.failed()) {
    out.note(::ftruncate(out.descriptor, static_cast<off_t>(out.allocated)) == 0);
  }
  out.size = out.allocated;
  return 0;
}

hid_t register_driver() {
  // Set by name, as releases of HDF5 order the members differently.
  static H5FD_class_t driver{};
#ifdef H5FD_CLASS_VERSION
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(H5_VFD_MAX + 86);  // any number for private use
#endif
  driver.name = "voxcycle-write";
  driver.maxaddr = kMaxBytes;
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(WriteStatus const*);
  driver.open = open_file;
  driver.close = close_file;
  driver.query = query;
  driver.get_eoa = get_allocated;
  driver.set_eoa = set_allocated;
  driver.get_eof = get_size;
  driver.read = read;
  driver.write = write;
  driver.truncate = truncate;
  H5FD_mem_t const map[] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(map), std::end(map), driver.fl_map);
  return H5FDregister(&driver);
}

}  // namespace

void use_write_driver(hid_t access, WriteStatus const& status) {
  static hid_t const driver = register_driver();
  WriteStatus const* const info = &status;
  if (driver < 0 || H5Pset_driver(access, driver, &info) < 0) {
    fail("HDF5", "cannot register a file driver", "");
  }
}

void require_written(WriteStatus const& status, std::string const& label) {
  VOXCYCLE_REQUIRE(status == nullptr || *status == 0,
                   label << ": cannot write: " << std::strerror(*status) << ". " << kSpatialAdvice);
}

}  // namespace voxcycle::hdf5
