// SPDX-License-Identifier: BSD-3-Clause
// Every reader of what others wrote, for libFuzzer: one a run, as VOXCYCLE_FUZZ names it. A reader
// may refuse what it gets with an Error; anything else is a finding.
#include "readers.hpp"

#include "voxcycle/config/config.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/field/formula.hpp"
#include "voxcycle/io/image.hpp"
#include "voxcycle/io/shard.hpp"
#include "voxcycle/io/voxel_set.hpp"
#include "voxcycle/poisson/boundary.hpp"
#include "voxcycle/train/checkpoint.hpp"
#include "voxcycle/train/run_record.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <unistd.h>

namespace voxcycle::fuzz {
namespace {

/// A file of this process with these bytes, written anew each time.
std::string file_of(std::string const& bytes, char const* extension) {
  auto const path = "/dev/shm/voxcycle-fuzz-" + std::to_string(::getpid()) + extension;
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  return path;
}

void field(std::string const& location) {
  static_cast<void>(read_image(location));
}

void set(std::string const& location) {
  VoxelSet const all(location);
  static_cast<void>(all.read(0, 0, 1));
}

void shard(std::string const& path) {
  ShardReader const reader(path);
  static_cast<void>(reader.contents());
  for (std::int64_t k = 0; k < reader.info().samples; ++k) static_cast<void>(reader.read(k));
}

void checkpoint(std::string const& path) {
  CheckpointReader const reader(path);
  reader.require_sound();
  static_cast<void>(reader.warm_start());
  static_cast<void>(metrics_from_csv(reader.header().metrics));
}

void config(std::string const& path) {
  Config all;
  all.read_file(path);
  static_cast<void>(all.dump());
}

/// The first line is the text, and what is read of the files that it may name does not exist.
void texts(std::string const& text) {
  auto const attempt = [](auto const& parse) {
    try {
      static_cast<void>(parse());
    } catch (Error const&) {  // each of them
    }
  };
  attempt([&] { return has_own_axes(text); });
  attempt([&] { return is_field_location(text); });
  attempt([&] { return parse_spacing("--spacing", text); });
  attempt([&] { return parse_boundary(text); });
  attempt([&] { return parse_phases("--phases", text); });
  attempt([&] {
    return is_formula(text) ? formula_values(text, Grid3::cube(2)) : std::vector<float>{};
  });
  attempt([&] {
    VoxelFieldOptions options;
    options.axes = text;
    return read_voxel_field("/dev/null/none.npy", options);
  });
}

}  // namespace

std::map<std::string, Reader> const& readers() {
  static std::map<std::string, Reader> const all{
      {"checkpoint", [](auto const& bytes) { checkpoint(file_of(bytes, ".h5")); }},
      {"config", [](auto const& bytes) { config(file_of(bytes, ".cfg")); }},
      {"hdf5", [](auto const& bytes) { field(file_of(bytes, ".h5")); }},
      {"hdf5_set", [](auto const& bytes) { set(file_of(bytes, ".h5") + ":/nu"); }},
      {"metrics", [](auto const& bytes) { static_cast<void>(metrics_from_csv(bytes)); }},
      {"npy", [](auto const& bytes) { field(file_of(bytes, ".npy")); }},
      {"npy_set", [](auto const& bytes) { set(file_of(bytes, ".npy")); }},
      {"npz", [](auto const& bytes) { field(file_of(bytes, ".npz")); }},
      {"raw", [](auto const& bytes) { field(file_of(bytes, ".raw") + ":2,2,2:float32"); }},
      {"shard", [](auto const& bytes) { shard(file_of(bytes, ".h5")); }},
      {"texts", [](auto const& bytes) { texts(bytes); }},
      {"tiff", [](auto const& bytes) { field(file_of(bytes, ".tif")); }},
      {"vtkhdf", [](auto const& bytes) { field(file_of(bytes, ".vtkhdf")); }}};
  return all;
}

void try_to_read(Reader const& reader, std::string const& bytes) {
  try {
    reader(bytes);
  } catch (Error const&) {  // a refusal, in words
  }
}

}  // namespace voxcycle::fuzz
