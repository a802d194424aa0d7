// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/host_device.hpp"

#include <cstdint>
#include <initializer_list>

namespace voxcycle {

/// Counter-based randomness: a value is a pure function of its coordinates (seed, stage, step,
/// index, ...), never of rank, thread or call order. Finaliser of SplitMix64 (Steele, Lea, Flood
/// 2014) chained over the coordinates.
VOXCYCLE_BOTH inline std::uint64_t hash_bits(std::initializer_list<std::uint64_t> coordinates) {
  std::uint64_t state = 0x9e3779b97f4a7c15ULL;
  for (std::uint64_t coordinate : coordinates) {
    state = (state ^ coordinate) + 0x9e3779b97f4a7c15ULL;
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9ULL;
    state = (state ^ (state >> 27)) * 0x94d049bb133111ebULL;
    state ^= state >> 31;
  }
  return state;
}

/// @return a number in [0, 1) with 53 random bits.
VOXCYCLE_BOTH inline double hash_uniform(std::initializer_list<std::uint64_t> coordinates) {
  return static_cast<double>(hash_bits(coordinates) >> 11) * 0x1.0p-53;
}

}  // namespace voxcycle
