// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/io/checkpoint_file.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace voxcycle {

/// A checkpoint of no weights, with a position of any length.
inline void write_position(std::string const& path, std::vector<std::int64_t> const& position) {
  std::vector<double> const seconds{4.5, 1.5};
  ArchiveWriter writer;
  writer.add_text("identity", "test = 1\n");
  writer.add_text("metrics", "");
  writer.add("position", std::span(position), {std::ssize(position)});
  writer.add("seconds", std::span(seconds), {2});
  writer.save(path);
}

}  // namespace voxcycle
