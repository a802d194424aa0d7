// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/log.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/printable.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <utility>

#include <fcntl.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <unistd.h>

namespace voxcycle {
namespace {

/// What becomes of lines for a file that is not there.
enum class Missing {
  make,  ///< the file is made
  skip,  ///< they are on stderr alone: another machine has the file
};

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    auto const written = ::write(file, text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Opens the file for each line: lines are rare, and network file systems then see each other's.
void append(std::string const& path, std::string_view line, Missing missing) {
  int const make = missing == Missing::make ? O_CREAT : 0;
  int const file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC | make, 0644);
  if (file < 0 && errno == ENOENT && missing == Missing::skip) return;
  bool written = false;
  if (file >= 0) {
    // Network file systems do not append at once. File systems without locks do without.
    static_cast<void>(::flock(file, LOCK_EX));
    written = write_all(file, line);
  }
  int const code = errno;
  if (file >= 0) ::close(file);
  VOXCYCLE_REQUIRE(file >= 0 || code != ELOOP,
                   "the log " << path
                              << " is a symbolic link. Remove it, or let log.file name the "
                                 "file itself.");
  VOXCYCLE_REQUIRE(written, "cannot write the log " << path << ": " << std::strerror(code)
                                                    << ". Free some space, or choose another "
                                                       "log.file.");
}

class FileSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  FileSink(std::string path, Missing missing) : path_(std::move(path)), missing_(missing) {
    if (missing == Missing::skip) return;
    std::error_code none;  // append says what is wrong
    auto const directory = std::filesystem::path(path_).parent_path();
    if (!directory.empty()) std::filesystem::create_directories(directory, none);
    append(path_, "", missing_);
  }

 private:
  void sink_it_(spdlog::details::log_msg const& line) override {
    spdlog::memory_buf_t text;
    formatter_->format(line, text);
    append(path_, {text.data(), text.size()}, missing_);
  }
  void flush_() override {}

  std::string path_;
  Missing missing_;
};

spdlog::logger& logger() {
  static std::shared_ptr<spdlog::logger> const instance = [] {
    auto made = std::make_shared<spdlog::logger>(
        "voxcycle", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("[%H:%M:%S] %^[%l]%$ %v");
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return *instance;
}

/// Of this process.
int own_rank = 0;
std::string own_prefix;  ///< of its lines

void add_file(std::string const& path, Missing missing, spdlog::level::level_enum level) {
  auto sink = std::make_shared<FileSink>(path, missing);
  sink->set_pattern("[%Y-%m-%d %H:%M:%S] [%l] " + own_prefix + "%v");
  sink->set_level(level);
  logger().sinks().push_back(std::move(sink));
}

/// log.txt -> log.3.txt
std::string file_of_rank(std::filesystem::path path, int rank) {
  auto const name = path.stem().string() + "." + std::to_string(rank) + path.extension().string();
  return path.replace_filename(name).string();
}

}  // namespace

void log_info(std::string_view text) {
  logger().info("{}", printable(text));
}
void log_warning(std::string_view text) {
  logger().warn("{}", printable(text));
}
void log_error(std::string_view text) {
  logger().error("{}", printable(text));
}

void log_to_file(LogOptions const& options) {
  logger().sinks().resize(1);  // stderr
  if (own_rank == 0 || options.mode == LogMode::collect) {
    add_file(options.file, Missing::make, spdlog::level::info);
    return;
  }
  add_file(options.file, Missing::skip, spdlog::level::warn);
  if (options.mode == LogMode::workers) {
    add_file(file_of_rank(options.file, own_rank), Missing::make, spdlog::level::info);
  }
}

void log_set_group_rank(int rank) {
  own_rank = rank;
  logger().sinks().front()->set_level(rank == 0 ? spdlog::level::info : spdlog::level::warn);
}

void log_set_rank(int rank, int size) {
  if (size > 1) {
    own_prefix = "rank " + std::to_string(rank) + ": ";
    logger().set_pattern("[%H:%M:%S] %^[%l]%$ " + own_prefix + "%v");
  }
  log_set_group_rank(rank);
}

std::string log_library_version() {
  return std::to_string(SPDLOG_VER_MAJOR) + "." + std::to_string(SPDLOG_VER_MINOR) + "." +
         std::to_string(SPDLOG_VER_PATCH);
}

}  // namespace voxcycle
