// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <vector>

#include "poisson/operator/stencil_offsets.hpp"
#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Rows of float64 that each begin on a cache line.
class AlignedRows {
 public:
  AlignedRows(std::int64_t count, std::int64_t length)
      : stride_((length + line - 1) / line * line), values_(count * stride_ / line) {}

  double* row(std::int64_t i) { return values_.data()->values + i * stride_; }
  double const* row(std::int64_t i) const { return values_.data()->values + i * stride_; }
  void fill(double value) { std::fill_n(row(0), std::ssize(values_) * line, value); }

 private:
  static constexpr std::int64_t line = 8;
  struct alignas(line * sizeof(double)) Line {
    double values[line];
  };

  std::int64_t stride_;
  std::vector<Line> values_;
};

/// The 27 entries of a matrix at the nodes of one row along z, those of even and odd z apart: node
/// 2k is (even, k), node 2k + 1 is (odd, k), for a row of 2n to 2n + 2 nodes. Entries of nodes
/// before the first and after the last are zero, so that (odd, k - 1), (even, k) and (odd, k) can
/// be read for any k from 0 to n.
class StencilRow {
 public:
  explicit StencilRow(std::int64_t n) : n_(n), rows_(2 * offset_count, before + n + 1) { clear(); }

  std::int64_t half() const { return n_; }
  double* entry(int t, int parity) { return rows_.row(2 * t + parity) + before; }
  double const* entry(int t, int parity) const { return rows_.row(2 * t + parity) + before; }
  void clear() { rows_.fill(0.0); }

 private:
  static constexpr std::int64_t before = 8;  // a cache line, for (odd, -1)

  std::int64_t n_;
  AlignedRows rows_;
};

/// Nodes of a row along z.
enum class RowNodes { even, odd, all };

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

  /// Sets the entries at `nodes` of (x, y, *), if the values are on the CPU. @param scratch  kept
  /// from call to call by each thread
  virtual void row(std::int64_t sample, std::int64_t x, std::int64_t y, RowNodes nodes,
                   StencilRow& out, std::vector<double>& scratch) const = 0;

 private:
  Values kind_;
  Grid3 grid_;
  at::Tensor values_;
};

/// K(nu). @param nu voxels [B, 1, nx, ny, nz], contiguous
std::unique_ptr<StencilSource> voxel_stencil(Grid3 const& grid, at::Tensor const& nu);

/// A symmetric matrix whose rows sum to zero, from its couplings [B, 13, nodes] with the neighbours
/// at offsets 14 to 26, or [B, 3, nodes] with the next along x, y and z if it has no others;
/// couplings that leave the grid are zero.
std::unique_ptr<StencilSource> coupling_stencil(Grid3 const& grid, at::Tensor const& couplings);

}  // namespace voxcycle
