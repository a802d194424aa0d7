// SPDX-License-Identifier: BSD-3-Clause
// For libFuzzer, which ./dev fuzz builds.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "io/hdf5_crash.hpp"
#include "readers.hpp"
#include <sanitizer/common_interface_defs.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int kFailedInHdf5 = 78;

/// Whether HDF5 itself ends at it, which a child finds out: that is no finding of ours.
bool ends_hdf5(voxcycle::fuzz::Reader const& reader, std::string const& bytes) {
  auto const child = ::fork();
  if (child == 0) {
    std::freopen("/dev/null", "w", stderr);  // reports are of the parent's attempt
    __sanitizer_set_death_callback([] {
      if (voxcycle::hdf5::InLibrary::now()) ::_exit(kFailedInHdf5);
    });
    voxcycle::fuzz::try_to_read(reader, bytes);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == kFailedInHdf5;
}

}  // namespace

// HDF5 leaves memory behind where it refuses a file.
extern "C" char const* __lsan_default_suppressions() {
  return "leak:libhdf5";
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static auto const& reader = voxcycle::fuzz::readers().at(std::getenv("VOXCYCLE_FUZZ"));
  std::string const bytes(reinterpret_cast<char const*>(data), size);
  bool const is_hdf5 = bytes.starts_with("\x89HDF");
  if (!is_hdf5 || !ends_hdf5(reader, bytes)) voxcycle::fuzz::try_to_read(reader, bytes);
  return 0;
}
