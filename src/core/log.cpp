// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/log.hpp"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "voxcycle/core/error.hpp"

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

void log_info(std::string_view text) { logger().info("{}", text); }
void log_warning(std::string_view text) { logger().warn("{}", text); }
void log_error(std::string_view text) { logger().error("{}", text); }

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

}  // namespace voxcycle
