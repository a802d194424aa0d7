// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/log.hpp"

#include "voxcycle/core/error.hpp"

#include <memory>

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace voxcycle {
namespace {

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

}  // namespace

void log_info(std::string_view text) {
  logger().info("{}", text);
}
void log_warning(std::string_view text) {
  logger().warn("{}", text);
}
void log_error(std::string_view text) {
  logger().error("{}", text);
}

void log_to_file(std::string const& path) {
  try {
    logger().sinks().push_back(std::make_shared<spdlog::sinks::basic_file_sink_mt>(path));
    logger().sinks().back()->set_pattern("[%Y-%m-%d %H:%M:%S] [%l] %v");
  } catch (spdlog::spdlog_ex const& problem) {
    throw Error(std::string("cannot write the log: ") + problem.what() + ".");
  }
}

void log_set_rank(int rank, int size) {
  if (size > 1) {
    logger().set_pattern("[%H:%M:%S] %^[%l]%$ rank " + std::to_string(rank) + ": %v");
  }
  if (rank != 0) logger().set_level(spdlog::level::warn);
}

std::string log_library_version() {
  return std::to_string(SPDLOG_VER_MAJOR) + "." + std::to_string(SPDLOG_VER_MINOR) + "." +
         std::to_string(SPDLOG_VER_PATCH);
}

}  // namespace voxcycle
