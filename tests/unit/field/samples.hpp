// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/field/family.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace voxcycle {

inline std::vector<float> evaluate(CoefficientFamily const& family,
                                   std::vector<double> const& omega, Grid3 const& grid,
                                   Planes const& planes = {}) {
  std::vector<float> nu(static_cast<std::size_t>(on_planes(grid, planes).voxel_count()));
  family.evaluate(omega, grid, planes, nu);
  return nu;
}

/// FNV-1a of the bits: pins a sample's bytes.
inline std::uint64_t digest(std::vector<float> const& values) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (float value : values) {
    auto const bits = std::bit_cast<std::uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) {
      hash = (hash ^ ((bits >> shift) & 0xffU)) * 0x100000001b3ULL;
    }
  }
  return hash;
}

/// Mean and standard error of independent numbers.
class Estimate {
 public:
  void add(double value) {
    ++count_;
    sum_ += value;
    squares_ += value * value;
  }
  double mean() const { return sum_ / count_; }
  double standard_error() const {
    return std::sqrt((squares_ / count_ - mean() * mean()) / (count_ - 1));
  }

 private:
  double count_ = 0;
  double sum_ = 0;
  double squares_ = 0;
};

}  // namespace voxcycle
