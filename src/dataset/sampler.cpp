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

Sampler::Sampler(std::uint64_t seed, std::int64_t stage, std::int64_t samples, std::int64_t block)
    : seed_(seed),
      stage_(static_cast<std::uint64_t>(stage)),
      samples_(static_cast<std::uint64_t>(samples)),
      block_(static_cast<std::uint64_t>(block)) {
  VOXCYCLE_REQUIRE(samples >= 1, "cannot sample from " << samples << " samples.");
  VOXCYCLE_REQUIRE(block >= 1, "cannot sample in blocks of " << block << '.');
  blocks_ = samples_ / block_;
  half_bits_ = std::max<int>(1, (std::bit_width(std::max<std::uint64_t>(blocks_, 1) - 1) + 1) / 2);
}

std::uint64_t Sampler::permuted(std::uint64_t epoch, std::uint64_t value) const {
  std::uint64_t const mask = (std::uint64_t{1} << half_bits_) - 1;
  do {  // a permutation of [0, 4^half_bits), walked on until it is back below the blocks
    std::uint64_t left = value >> half_bits_;
    std::uint64_t right = value & mask;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      std::uint64_t const mixed = left ^ (hash_bits({seed_, stage_, epoch, round, right}) & mask);
      left = right;
      right = mixed;
    }
    value = (left << half_bits_) | right;
  } while (value >= blocks_);
  return value;
}

std::int64_t Sampler::operator()(std::int64_t position) const {
  VOXCYCLE_REQUIRE(position >= 0, "position " << position << " of a stage does not exist.");
  std::uint64_t const epoch = static_cast<std::uint64_t>(position) / samples_;
  std::uint64_t const place = static_cast<std::uint64_t>(position) % samples_;
  // The samples after the last whole block end every epoch in their own order.
  if (place >= blocks_ * block_) return static_cast<std::int64_t>(place);
  return static_cast<std::int64_t>(permuted(epoch, place / block_) * block_ + place % block_);
}

}  // namespace voxcycle
