// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "stencil_offsets.hpp"
#include <ATen/core/Tensor.h>

namespace voxcycle {

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
  enum class Values { nu, couplings };

  StencilSource(Values kind, Grid3 const& grid, at::Tensor const& values)
      : kind_(kind), grid_(grid), values_(values) {}
  virtual ~StencilSource() = default;
  StencilSource(StencilSource const&) = delete;
  StencilSource& operator=(StencilSource const&) = delete;

  Grid3 const& grid() const { return grid_; }
  std::int64_t batch() const { return values_.size(0); }
  at::TensorOptions options() const { return values_.options(); }
  Values kind() const { return kind_; }
  at::Tensor const& values() const { return values_; }

  /// Sets the entries at nodes (x, y, *), if the values are on the CPU. @param scratch  kept from
  /// call to call by each thread
  virtual void row(std::int64_t sample, std::int64_t x, std::int64_t y, StencilRow& out,
                   std::vector<double>& scratch) const = 0;

 private:
  Values kind_;
  Grid3 grid_;
  at::Tensor values_;
};

/// K(nu). @param nu voxels [B, 1, nx, ny, nz], contiguous
std::unique_ptr<StencilSource> voxel_stencil(Grid3 const& grid, at::Tensor const& nu);

/// A symmetric matrix whose rows sum to zero, from its couplings [B, 13, nodes] with the neighbours
/// at offsets 14 to 26; couplings that leave the grid are zero.
std::unique_ptr<StencilSource> coupling_stencil(Grid3 const& grid, at::Tensor const& couplings);

}  // namespace voxcycle
