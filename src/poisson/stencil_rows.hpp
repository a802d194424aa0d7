// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Offsets between neighbouring nodes, each -1, 0 or 1 an axis. They are numbered 0 to 26 with z
/// fastest; 13 is none, and t and 26 - t are opposite.
using Offset = std::array<int, 3>;
constexpr int offset_count = 27;
constexpr int no_offset = 13;

constexpr Offset offset_of(int t) {
  return {t / 9 - 1, t / 3 % 3 - 1, t % 3 - 1};
}
constexpr int index_of(Offset const& o) {
  return (o[0] + 1) * 9 + (o[1] + 1) * 3 + o[2] + 1;
}

/// The 27 entries of a matrix at the nodes of one row along z, those of even and odd z apart: node
/// 2k is (even, k), node 2k + 1 is (odd, k), for a row of 2n + 1 nodes. Entries of odd nodes before
/// the first and after the last are zero, so that (odd, k - 1) and (odd, k) can be read for any
/// even node k.
class StencilRow {
 public:
  explicit StencilRow(std::int64_t n) : n_(n), values_((2 * offset_count + 1) * (n + 2)) {}

  std::int64_t half() const { return n_; }
  double* entry(int t, int parity) { return values_.data() + (2 * t + parity) * (n_ + 2) + 1; }
  double const* entry(int t, int parity) const {
    return values_.data() + (2 * t + parity) * (n_ + 2) + 1;
  }
  void clear() { std::fill(values_.begin(), values_.end(), 0.0); }

 private:
  std::int64_t n_;
  std::vector<double> values_;
};

/// A matrix on the nodes of a grid with 27 entries a row, made row by row when asked for.
class StencilSource {
 public:
  StencilSource(Grid3 const& grid, at::Tensor const& values) : grid_(grid), values_(values) {}
  virtual ~StencilSource() = default;
  StencilSource(StencilSource const&) = delete;
  StencilSource& operator=(StencilSource const&) = delete;

  Grid3 const& grid() const { return grid_; }
  std::int64_t batch() const { return values_.size(0); }
  at::TensorOptions options() const { return values_.options(); }

  /// Sets the entries at nodes (x, y, *). @param scratch  kept from call to call by each thread
  virtual void row(std::int64_t sample, std::int64_t x, std::int64_t y, StencilRow& out,
                   std::vector<double>& scratch) const = 0;

 protected:
  at::Tensor const& values() const { return values_; }

 private:
  Grid3 grid_;
  at::Tensor values_;
};

/// K(nu). @param nu voxels [B, 1, nx, ny, nz], contiguous
std::unique_ptr<StencilSource> voxel_stencil(Grid3 const& grid, at::Tensor const& nu);

/// A symmetric matrix whose rows sum to zero, from its couplings [B, 13, nodes] with the neighbours
/// at offsets 14 to 26; couplings that leave the grid are zero.
std::unique_ptr<StencilSource> coupling_stencil(Grid3 const& grid, at::Tensor const& couplings);

}  // namespace voxcycle
