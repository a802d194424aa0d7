// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace voxcycle {

/// Folders of this process's control groups of a controller ("memory", "cpu") and of all above
/// them, of version 2 ("0::/group") or 1 ("5:memory:/group"): how containers and batch systems
/// limit it. Format: Linux, cgroups(7).
std::vector<std::filesystem::path> control_groups(
    std::string const& controller, std::filesystem::path const& table = "/proc/self/cgroup",
    std::filesystem::path const& root = "/sys/fs/cgroup");

/// The least limit on memory in these folders, bytes.
std::optional<std::int64_t> memory_limit(std::vector<std::filesystem::path> const& groups);

/// The least limit on computing time in these folders, in cores.
std::optional<double> cpu_limit(std::vector<std::filesystem::path> const& groups);

}  // namespace voxcycle
