// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/io/shard.hpp"

#include <filesystem>
#include <string>

namespace voxcycle {

/// A set of `samples` samples in two shards of a 2 x 3 x 4 grid; value k of sample i is
/// 100 (i + 1) + k in nu, i - k in f and -(i + 1) - k / 100 in u_ref. @return its directory
inline std::string shards_on_disk(std::string const& name, std::int64_t samples,
                                  bool reference = false, bool source = false) {
  auto const directory = std::filesystem::path(VOXCYCLE_TEST_SCRATCH) / name;
  std::filesystem::remove_all(directory);
  ShardInfo info;
  info.family = "test";
  info.split = "train";
  info.grid = {{2, 3, 4}, {1.0, 1.0, 1.0}};
  info.parameters = 1;
  info.has_reference = reference;
  info.has_source = source;
  for (std::int64_t number = 0; number < 2; ++number) {
    info.first_index = number * (samples / 2);
    info.samples = number == 0 ? samples / 2 : samples - samples / 2;
    write_shard((directory / shard_name(number, 2)).string(), info, [&](std::int64_t local) {
      std::int64_t const index = info.first_index + local;
      ShardSample sample;
      sample.omega = {0.5 * static_cast<double>(index)};
      for (int k = 0; k < 24; ++k) sample.nu.push_back(static_cast<float>(100 * (index + 1) + k));
      for (int k = 0; source && k < 24; ++k) sample.f.push_back(static_cast<float>(index - k));
      for (int k = 0; reference && k < 60; ++k) {
        sample.u_ref.push_back(-static_cast<double>(index + 1) - k / 100.0);
      }
      return sample;
    });
  }
  return directory.string();
}

}  // namespace voxcycle
