// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/dataset/sampler.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/random.hpp"

#include <algorithm>
#include <bit>

namespace voxcycle {
namespace {

/// Four rounds make a Feistel network of good round functions a good permutation (Luby and Rackoff
/// 1988); two more cost little and help the tiny halves of small data sets.
constexpr std::uint64_t kRounds = 6;

}  // namespace

Sampler::Sampler(std::uint64_t seed, std::int64_t stage, std::int64_t samples)
    : seed_(seed),
      stage_(static_cast<std::uint64_t>(stage)),
      samples_(static_cast<std::uint64_t>(samples)),
      half_bits_(0) {
  VOXCYCLE_REQUIRE(samples >= 1, "cannot sample from " << samples << " samples.");
  half_bits_ = std::max<int>(1, (std::bit_width(samples_ - 1) + 1) / 2);
}

std::int64_t Sampler::operator()(std::int64_t position) const {
  VOXCYCLE_REQUIRE(position >= 0, "position " << position << " of a stage does not exist.");
  std::uint64_t const epoch = static_cast<std::uint64_t>(position) / samples_;
  std::uint64_t const mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t value = static_cast<std::uint64_t>(position) % samples_;
  do {  // a permutation of [0, 4^half_bits), walked on until it is back below samples
    std::uint64_t left = value >> half_bits_;
    std::uint64_t right = value & mask;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      std::uint64_t const mixed = left ^ (hash_bits({seed_, stage_, epoch, round, right}) & mask);
      left = right;
      right = mixed;
    }
    value = (left << half_bits_) | right;
  } while (value >= samples_);
  return static_cast<std::int64_t>(value);
}

}  // namespace voxcycle
