// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/config/config.hpp"
#include "voxcycle/core/atomic_file.hpp"

#include <string>

namespace voxcycle {

/// The configuration that a file of this text makes.
inline Config config_of(std::string const& text) {
  std::string const path = std::string(VOXCYCLE_TEST_SCRATCH) + "/study.cfg";
  write_file_atomically(path, text);
  Config config;
  config.read_file(path);
  return config;
}

}  // namespace voxcycle
