// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/control_groups.hpp"

#include <algorithm>
#include <fstream>
#include <initializer_list>

namespace voxcycle {
namespace {

/// The next number of a file; nothing at its end, or before a word ("max": no limit).
std::optional<std::int64_t> next_number(std::istream& in) {
  std::int64_t value = 0;
  return in >> value ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> number_in(std::filesystem::path const& path) {
  std::ifstream in(path);
  return next_number(in);
}

template <class Number>
void lower(std::optional<Number>& minimum, Number value) {
  minimum = std::min(minimum.value_or(value), value);
}

}  // namespace

std::vector<std::filesystem::path> control_groups(std::string const& controller,
                                                  std::filesystem::path const& table,
                                                  std::filesystem::path const& root) {
  std::vector<std::filesystem::path> folders;
  std::ifstream in(table);
  for (std::string line; std::getline(in, line);) {
    auto const first = line.find(':');
    auto const second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string const controllers = line.substr(first + 1, second - first - 1);
    bool const version_2 = controllers.empty();
    if (!version_2 && ("," + controllers + ",").find("," + controller + ",") == std::string::npos) {
      continue;
    }
    std::filesystem::path const top = version_2 ? root : root / controller;
    std::string group = line.substr(second + 1);
    while (true) {
      folders.push_back(top.string() + group);
      auto const slash = group.rfind('/');
      if (slash == std::string::npos) break;
      group.resize(slash);
    }
  }
  return folders;
}

std::optional<std::int64_t> memory_limit(std::vector<std::filesystem::path> const& groups) {
  std::optional<std::int64_t> minimum;
  for (auto const& group : groups) {
    for (char const* name : {"memory.max", "memory.limit_in_bytes"}) {
      if (auto const bytes = number_in(group / name)) lower(minimum, *bytes);
    }
  }
  return minimum;
}

std::optional<double> cpu_limit(std::vector<std::filesystem::path> const& groups) {
  std::optional<double> minimum;
  auto const allow = [&](std::optional<std::int64_t> quota, std::optional<std::int64_t> period) {
    if (quota.value_or(-1) <= 0 || period.value_or(-1) <= 0) return;  // -1: no limit
    lower(minimum, static_cast<double>(*quota) / static_cast<double>(*period));
  };
  for (auto const& group : groups) {
    std::ifstream in(group / "cpu.max");  // "quota period"
    auto const quota = next_number(in);
    allow(quota, next_number(in));
    allow(number_in(group / "cpu.cfs_quota_us"), number_in(group / "cpu.cfs_period_us"));
  }
  return minimum;
}

}  // namespace voxcycle
