// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/io/shard.hpp"

#include <csignal>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace voxcycle {

/// An empty directory of the test's own.
inline std::string fresh_directory(std::string const& name) {
  auto const path = std::filesystem::path(VOXCYCLE_TEST_SCRATCH) / name;
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path.string();
}

inline std::string slurp(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void spit(std::string const& path, std::string const& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// What `make` returns, the bytes of an HDF5 file; fails where they hold the time of their making,
/// which HDF5 writes as seconds in 32 bits.
template <class Make>
std::string timeless(Make const& make) {
  std::time_t const begin = std::time(nullptr);
  std::string const bytes = make();
  for (std::time_t at = begin; at <= std::time(nullptr); ++at) {
    auto const seconds = static_cast<std::uint32_t>(at);
    std::string const mark(reinterpret_cast<char const*>(&seconds), sizeof(seconds));
    EXPECT_EQ(bytes.find(mark), std::string::npos) << "the file holds the time of its making";
  }
  return bytes;
}

/// While it lives, files of this process cannot grow beyond `bytes`: what a full disk looks like.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit const limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SmallDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallDisk(SmallDisk const&) = delete;
  SmallDisk& operator=(SmallDisk const&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

/// CRC-32 bit by bit (reflected polynomial edb88320), as the format's documentation demands.
inline std::uint32_t crc32_by_hand(std::string const& bytes) {
  std::uint32_t sum = 0xffffffff;
  for (unsigned char byte : bytes) {
    sum ^= byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) * 0xedb88320U);
  }
  return ~sum;
}

template <class T>
std::string bytes_of(std::vector<T> const& values) {
  return {reinterpret_cast<char const*>(values.data()), values.size() * sizeof(T)};
}

inline ShardInfo small_info() {
  ShardInfo info;
  info.family = "kl(modes=2, range=3)";
  info.seed = 0xfedcba9876543210;
  info.split = "train";
  info.grid = {{2, 3, 4}, {1.0, 1.5, 0.1}};
  info.boundary = "x-: 1, x+: 0";
  info.parameters = 2;
  info.first_index = 10;
  info.samples = 3;
  info.source = "sampled";
  info.has_source = true;
  info.has_reference = true;
  return info;
}

/// Numbers that tell every place of every sample apart.
inline ShardSample small_sample(ShardInfo const& info, std::int64_t local) {
  ShardSample sample;
  auto const base = static_cast<double>(1000 * (info.first_index + local + 1));
  for (std::int64_t k = 0; k < info.parameters; ++k) sample.omega.push_back(-base - double(k));
  for (std::int64_t k = 0; k < info.grid.voxel_count(); ++k) {
    sample.nu.push_back(static_cast<float>(base + 0.25 * double(k)));
  }
  for (std::int64_t k = 0; info.has_source && k < info.grid.voxel_count(); ++k) {
    sample.f.push_back(static_cast<float>(-base - 0.5 * double(k)));
  }
  std::int64_t const nodes = info.has_reference ? info.grid.node_count() : 0;
  for (std::int64_t k = 0; k < nodes; ++k) sample.u_ref.push_back(base + double(k) / 3);
  return sample;
}

inline void write_small_shard(std::string const& path, ShardInfo const& info) {
  write_shard(path, info, [&](std::int64_t local) { return small_sample(info, local); });
}

}  // namespace voxcycle
