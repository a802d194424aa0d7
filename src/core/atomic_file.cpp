// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/atomic_file.hpp"

#include "voxcycle/core/error.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace voxcycle {
namespace {

void sync_to_disk(std::string const& path, int flags) {
  int const descriptor = ::open(path.c_str(), flags);
  VOXCYCLE_REQUIRE(descriptor >= 0, "cannot open " << path << ": " << std::strerror(errno) << '.');
  int const status = ::fsync(descriptor);
  int const code = errno;
  ::close(descriptor);
  // Some file systems cannot sync a directory; the data itself is synced by then.
  VOXCYCLE_REQUIRE(status == 0 || code == EINVAL,
                   "cannot sync " << path << ": " << std::strerror(code) << '.');
}

}  // namespace

void write_atomically(std::string const& path,
                      std::function<void(std::string const& temporary)> const& write) {
  namespace fs = std::filesystem;
  fs::path const target(path);
  fs::path const directory = target.has_parent_path() ? target.parent_path() : fs::path(".");
  std::error_code code;
  fs::create_directories(directory, code);
  VOXCYCLE_REQUIRE(!code, "cannot make the directory " << directory << ": " << code.message()
                                                       << ". Check the path and its permissions.");
  std::string const temporary = path + ".tmp-" + std::to_string(::getpid());
  try {
    write(temporary);
    sync_to_disk(temporary, O_RDWR);
    fs::rename(temporary, target, code);
    VOXCYCLE_REQUIRE(
        !code, "cannot rename " << temporary << " to " << path << ": " << code.message() << '.');
    sync_to_disk(directory.string(), O_RDONLY);
  } catch (...) {
    fs::remove(temporary, code);
    throw;
  }
}

void write_file_atomically(std::string const& path, std::string_view content) {
  write_atomically(path, [&](std::string const& temporary) {
    std::ofstream out(temporary, std::ios::binary);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.close();
    VOXCYCLE_REQUIRE(out, "cannot write " << path << ": " << std::strerror(errno)
                                          << ". Free some space or choose another directory.");
  });
}

void require_writable(std::string const& path) {
  namespace fs = std::filesystem;
  std::error_code code;
  VOXCYCLE_REQUIRE(!fs::is_directory(path, code),
                   "cannot write " << path << ": it is a directory. Give a file's name.");
  fs::path there = fs::absolute(path).parent_path();
  while (!fs::exists(there, code) && there.has_relative_path()) there = there.parent_path();
  VOXCYCLE_REQUIRE(fs::is_directory(there, code),
                   "cannot write " << path << ": " << there << " is no directory. Check the path.");
  VOXCYCLE_REQUIRE(::access(there.c_str(), W_OK) == 0,
                   "cannot write " << path << ": " << there << ": " << std::strerror(errno)
                                   << ". Choose another directory.");
}

std::string read_file(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  VOXCYCLE_REQUIRE(in, "cannot read " << path << ": " << std::strerror(errno) << '.');
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace voxcycle
