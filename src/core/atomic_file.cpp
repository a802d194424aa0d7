// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/atomic_file.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/host.hpp"
#include "voxcycle/core/text.hpp"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace voxcycle {
namespace {

namespace fs = std::filesystem;

/// Symbolic links that are followed, as many as Linux follows.
constexpr int kMaxLinks = 40;

/// Between a file's name and the process that writes it, which may be one of several machines.
constexpr char const* kTemporary = ".tmp-";

/// Whether what this program prints goes into that file.
bool holds_our_output(fs::path const& file) {
  struct stat there {};
  if (::stat(file.c_str(), &there) != 0) return false;
  for (int const descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat ours {};
    bool const known = ::fstat(descriptor, &ours) == 0;
    if (known && ours.st_dev == there.st_dev && ours.st_ino == there.st_ino) return true;
  }
  return false;
}

/// The place of the file that `path` means, whether there is one or not. New files are renamed into
/// place, which would replace a symbolic link or a device itself. @throws Error if that is no file.
fs::path place_of_file(std::string const& path) {
  std::error_code code;
  auto const there = fs::status(path, code);
  VOXCYCLE_REQUIRE(!fs::is_directory(there),
                   "cannot write " << path << ": it is a directory. Give a file's name.");
  VOXCYCLE_REQUIRE(!fs::is_other(there),
                   "cannot write " << path << ": it is a device, a pipe or a socket (a file would "
                                   << "take its place). Give a file's name.");
  VOXCYCLE_REQUIRE(!holds_our_output(path),
                   "cannot write " << path << ": this program prints into that file (which would "
                                   << "be replaced). Give another file's name.");
  fs::path place(path);
  for (int links = 0; fs::is_symlink(place, code); ++links) {
    VOXCYCLE_REQUIRE(links < kMaxLinks, "cannot write " << path << ": its symbolic links lead "
                                                        << "round in a circle. Remove them.");
    fs::path const to = fs::read_symlink(place, code);
    VOXCYCLE_REQUIRE(!code, "cannot write " << path << ": cannot follow the symbolic link " << place
                                            << ": " << code.message() << ". Check it.");
    place = place.parent_path() / to;
  }
  return place;
}

/// A name that no other process has, or can guess.
fs::path temporary_of(fs::path const& target) {
  std::uint64_t number = 0;
  static_cast<void>(::getrandom(&number, sizeof number, 0));
  return target.string() + kTemporary + host_name() + "-" + std::to_string(::getpid()) +
         format("-%016lx", static_cast<unsigned long>(number));
}

/// A new file, and no link to another. @return -1 if there cannot be one: see errno
int make_file(std::string const& path) {
  return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

/// A file that this process writes under a temporary name. Its lock says so, until the process
/// ends.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)), file_(make_file(path_)) {
    VOXCYCLE_REQUIRE(file_ >= 0, "cannot write " << path_ << ": " << std::strerror(errno)
                                                 << ". Check the directory and its permissions.");
    static_cast<void>(::flock(file_, LOCK_EX | LOCK_NB));
  }
  ~TemporaryFile() { ::close(file_); }
  TemporaryFile(TemporaryFile const&) = delete;
  TemporaryFile& operator=(TemporaryFile const&) = delete;

 private:
  std::string path_;
  int file_;
};

/// @param path  what messages call it
void write_to(std::string const& temporary, std::string const& path, std::string_view content) {
  std::ofstream out(temporary, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  VOXCYCLE_REQUIRE(out, "cannot write " << path << ": " << std::strerror(errno)
                                        << ". Free some space or choose another directory.");
}

/// Whether no process writes it any more.
bool is_leftover(fs::path const& path, std::chrono::nanoseconds age) {
  using namespace std::chrono_literals;
  if (age < 1s) return false;  // it may be made, and not locked yet
  int const file = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return false;
  bool const is_free = ::flock(file, LOCK_EX | LOCK_NB) == 0;
  bool const has_locks = is_free || errno == EWOULDBLOCK;
  ::close(file);
  return has_locks ? is_free : age >= 24h;
}

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
  fs::path const target = place_of_file(path);
  fs::path const directory = target.has_parent_path() ? target.parent_path() : fs::path(".");
  std::error_code code;
  fs::create_directories(directory, code);
  VOXCYCLE_REQUIRE(!code, "cannot make the directory " << directory << ": " << code.message()
                                                       << ". Check the path and its permissions.");
  std::string const temporary = temporary_of(target).string();
  TemporaryFile const made(temporary);
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

void remove_leftovers(std::string const& directory) {
  std::error_code code;  // of a directory that is not there, of files that others remove
  auto const now = fs::file_time_type::clock::now();
  for (auto const& entry : fs::directory_iterator(directory, code)) {
    bool const temporary = entry.path().filename().string().find(kTemporary) != std::string::npos;
    if (!temporary || entry.is_symlink(code) || !entry.is_regular_file(code)) continue;
    auto const written = entry.last_write_time(code);
    if (!code && is_leftover(entry.path(), now - written)) fs::remove(entry.path(), code);
  }
}

void write_file_atomically(std::string const& path, std::string_view content) {
  write_atomically(path, [&](std::string const& temporary) { write_to(temporary, path, content); });
}

void write_files_atomically(std::vector<std::pair<std::string, std::string>> const& files) {
  // The next ones are written before the first gets its name.
  std::function<void(std::size_t)> const write_from = [&](std::size_t k) {
    if (k == files.size()) return;
    auto const& [path, content] = files[k];
    write_atomically(path, [&, &path = path, &content = content](std::string const& temporary) {
      write_to(temporary, path, content);
      write_from(k + 1);
    });
  };
  write_from(0);
}

void require_writable(std::string const& path) {
  std::error_code code;
  fs::path const target = fs::absolute(place_of_file(path));
  fs::path there = target.parent_path();
  while (!fs::exists(there, code) && there.has_relative_path()) there = there.parent_path();
  VOXCYCLE_REQUIRE(fs::is_directory(there, code),
                   "cannot write " << path << ": " << there << " is no directory. Check the path.");
  // Tried, as permissions do not tell all: names may be too long, file systems of the kernel's own.
  auto const trial = (there / temporary_of(target).filename()).string();
  int const file = make_file(trial);
  VOXCYCLE_REQUIRE(file >= 0, "cannot write " << path << " into " << there << ": "
                                              << std::strerror(errno)
                                              << ". Choose another directory or name.");
  ::close(file);
  ::unlink(trial.c_str());
}

std::string read_file(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  VOXCYCLE_REQUIRE(in, "cannot read " << path << ": " << std::strerror(errno) << '.');
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace voxcycle
