// SPDX-License-Identifier: BSD-3-Clause
#include "black_box.hpp"

#include "voxcycle/poisson/parallel.hpp"

#include <cmath>

#include "device.hpp"
#include "row_loops.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

// One sample's rows of nodal arrays [count, coarse nodes].
template <class T>
struct Rows {
  T* values;
  std::int64_t nx, ny, length;

  Rows(at::Tensor& tensor, std::int64_t sample, Grid3 const& grid)
      : values(tensor.mutable_data_ptr<T>() + sample * tensor.stride(0)),
        nx(grid.nodes(0)),
        ny(grid.nodes(1)),
        length(grid.nodes(2)) {}
  bool holds(std::int64_t x, std::int64_t y) const { return x >= 0 && x < nx && y >= 0 && y < ny; }
  T* row(int slot, std::int64_t x, std::int64_t y) const {
    return values + ((slot * nx + x) * ny + y) * length;
  }
};

// The offsets that are zero along the even axes of a fine node with these odd ones: its neighbours
// with an equation of their own on an edge, a face or in a voxel; corners are odd along all.
struct Neighbours {
  std::vector<Offset> all, corners;

  explicit Neighbours(std::array<bool, 3> const& odd) {
    for (int t = 0; t < offset_count; ++t) {
      Offset const o = offset_of(t);
      bool inside = t != no_offset, corner = true;
      for (int a = 0; a < 3; ++a) {
        inside = inside && (odd[a] || o[a] == 0);
        corner = corner && (odd[a] == (o[a] != 0));
      }
      if (inside) all.push_back(o);
      if (inside && corner) corners.push_back(o);
    }
  }
};

// Whether a lies between zero and c along every axis.
bool towards(Offset const& a, Offset const& c) {
  for (int axis = 0; axis < 3; ++axis) {
    if (a[axis] != 0 && a[axis] != c[axis]) return false;
  }
  return true;
}

// Interpolation to the fine nodes of row (x, y) that are odd along z or not.
template <class T>
class RowInterpolation {
 public:
  RowInterpolation(Rows<T> const& weights, StencilRow const& stencil, std::int64_t x,
                   std::int64_t y, bool odd_z)
      : weights_(weights),
        x_(x),
        y_(y),
        parity_(odd_z ? 1 : 0),
        odd_{x % 2 != 0, y % 2 != 0, odd_z},
        neighbours_(odd_),
        count_(stencil.half() + 1 - parity_),
        ones_(count_, T(1)),
        sum_(count_, 0.0) {
    collapse(stencil);
  }

  void write() {
    std::vector<std::vector<double>> shares;
    for (Offset const& c : neighbours_.corners) shares.push_back(share_of(c));
    replace_senseless(shares);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      Offset const& c = neighbours_.corners[i];
      T* const out = weight({-c[0], -c[1], -c[2]}, c);
      for (std::int64_t k = 0; k < count_; ++k) out[k] = static_cast<T>(shares[i][k]);
    }
  }

 private:
  // -1 times the couplings to each neighbour, summed along the even axes, and the sum of all.
  void collapse(StencilRow const& stencil) {
    auto const& loops = row_loops::table().f64;
    std::vector<double> const minus(count_, -1.0);
    for (Offset const& d : neighbours_.all) {
      std::vector<double> total(count_, 0.0);
      for (int t = 0; t < offset_count; ++t) {
        Offset const o = offset_of(t);
        bool same = true;
        for (int a = 0; a < 3; ++a) same = same && (!odd_[a] || o[a] == d[a]);
        if (same) {
          loops.multiply_add(total.data(), minus.data(), stencil.entry(t, parity_), count_);
        }
      }
      for (std::int64_t k = 0; k < count_; ++k) sum_[k] += total[k];
      collapsed_.push_back(std::move(total));
    }
  }

  // The weights that the coarse node at f + c gives to f + o + c, for f of this row.
  T* weight(Offset const& o, Offset const& c) const {
    std::int64_t const shift = odd_[2] ? (c[2] + 1) / 2 : 0;
    return weights_.row(weight_slot(index_of(o)), (x_ + c[0]) / 2, (y_ + c[1]) / 2) + shift;
  }

  // What the corner c gives, times sum: by itself and through nodes nearer to it.
  std::vector<double> share_of(Offset const& c) const {
    auto const& loops = row_loops::loops<T>();
    std::vector<double> share(count_, 0.0);
    for (std::size_t i = 0; i < neighbours_.all.size(); ++i) {
      Offset const& d = neighbours_.all[i];
      if (!towards(d, c)) continue;
      Offset const o{d[0] - c[0], d[1] - c[1], d[2] - c[2]};
      T const* const known = index_of(o) == no_offset ? ones_.data() : weight(o, c);
      loops.weigh(share.data(), collapsed_[i].data(), known, count_);
    }
    return share;
  }

  void replace_senseless(std::vector<std::vector<double>>& shares) const {
    bool const edge = shares.size() == 2;
    double const least = edge ? 0.0 : -1.0, most = edge ? 1.0 : 2.0;
    for (std::int64_t k = 0; k < count_; ++k) {
      bool sense = sum_[k] > 0.0;
      for (auto& share : shares) {
        share[k] /= sum_[k];
        sense = sense && share[k] >= least && share[k] <= most;
      }
      if (sense) continue;
      for (auto& share : shares) share[k] = 1.0 / static_cast<double>(shares.size());
    }
  }

  Rows<T> const& weights_;
  std::int64_t x_, y_;
  int parity_;
  std::array<bool, 3> odd_;
  Neighbours neighbours_;
  std::int64_t count_;
  std::vector<T> ones_;
  std::vector<double> sum_;
  std::vector<std::vector<double>> collapsed_;
};

template <class T>
void interpolate(StencilSource const& fine, at::Tensor& weights) {
  Grid3 const& grid = fine.grid();
  Grid3 const coarse = grid.coarsened();
  std::int64_t const rows = grid.nodes(0) * grid.nodes(1);
  // Edges, faces, voxels: each needs the ones before.
  for (int odd_axes = 1; odd_axes <= 3; ++odd_axes) {
    parallel_for(fine.batch() * rows, 60 * grid.nodes(2), [&](auto begin, auto end) {
      StencilRow stencil(coarse.voxels[2]);
      std::vector<double> scratch;
      for (std::int64_t i = begin; i < end; ++i) {
        std::int64_t const sample = i / rows, x = i % rows / grid.nodes(1), y = i % grid.nodes(1);
        auto const odd_z = odd_axes - x % 2 - y % 2;
        if (odd_z < 0 || odd_z > 1) continue;
        fine.row(sample, x, y, stencil, scratch);
        RowInterpolation<T>(Rows<T>(weights, sample, coarse), stencil, x, y, odd_z == 1).write();
      }
    });
  }
}

// The couplings of one row of coarse nodes.
template <class T>
class RowProduct {
 public:
  RowProduct(StencilSource const& fine, Grid3 const& coarse)
      : fine_(fine),
        stencils_(9, StencilRow(coarse.voxels[2])),
        ones_(coarse.nodes(2), T(1)),
        sum_(coarse.nodes(2)) {}

  void write(Rows<T> const& weights, Rows<T> const& out, std::int64_t sample, std::int64_t x,
             std::int64_t y) {
    Grid3 const& grid = fine_.grid();
    for (int i = 0; i < 9; ++i) {
      std::int64_t const xf = 2 * x + i / 3 - 1, yf = 2 * y + i % 3 - 1;
      present_[i] = xf >= 0 && xf < grid.nodes(0) && yf >= 0 && yf < grid.nodes(1);
      if (present_[i]) fine_.row(sample, xf, yf, stencils_[i], scratch_);
    }
    for (int s = no_offset + 1; s < offset_count; ++s) {
      Offset const step = offset_of(s);
      if (!weights.holds(x + step[0], y + step[1])) continue;
      std::fill(sum_.begin(), sum_.end(), 0.0);
      for (int o = 0; o < offset_count; ++o) {
        if (present_[o / 3]) add_terms(weights, x, y, o, step);
      }
      T* const row = out.row(s - no_offset - 1, x, y);
      for (std::size_t k = 0; k < sum_.size(); ++k) row[k] = static_cast<T>(sum_[k]);
    }
  }

 private:
  // sum += P(f, I) K(f, g) P(g, J) for the coarse nodes I = (x, y, *), their neighbours J = I +
  // step, the fine nodes f = 2I + o and all neighbours g of f that J gives to.
  void add_terms(Rows<T> const& weights, std::int64_t x, std::int64_t y, int o,
                 Offset const& step) {
    auto const& loops = row_loops::loops<T>();
    Offset const from = offset_of(o);
    std::int64_t const length = std::ssize(sum_);
    std::int64_t const first = step[2] < 0 ? 1 : 0, count = length - (step[2] != 0 ? 1 : 0);
    T const* const p = weights_or_ones(weights, o, x, y);
    for (int t = 0; t < offset_count; ++t) {
      Offset const by = offset_of(t);
      Offset const to{from[0] + by[0] - 2 * step[0], from[1] + by[1] - 2 * step[1],
                      from[2] + by[2] - 2 * step[2]};
      if (std::abs(to[0]) > 1 || std::abs(to[1]) > 1 || std::abs(to[2]) > 1) continue;
      double const* const a =
          stencils_[o / 3].entry(t, from[2] != 0 ? 1 : 0) + (from[2] < 0 ? -1 : 0);
      T const* const q = weights_or_ones(weights, index_of(to), x + step[0], y + step[1]);
      loops.congruence(sum_.data() + first, p + first, a + first, q + first + step[2], count);
    }
  }

  T const* weights_or_ones(Rows<T> const& weights, int o, std::int64_t x, std::int64_t y) const {
    return o == no_offset ? ones_.data() : weights.row(weight_slot(o), x, y);
  }

  StencilSource const& fine_;
  std::vector<StencilRow> stencils_;  // of the fine rows around
  std::array<bool, 9> present_{};
  std::vector<T> ones_;
  std::vector<double> sum_, scratch_;
};

template <class T>
void multiply(StencilSource const& fine, at::Tensor& weights, at::Tensor& couplings) {
  Grid3 const coarse = fine.grid().coarsened();
  std::int64_t const rows = coarse.nodes(0) * coarse.nodes(1);
  parallel_for(fine.batch() * rows, 3000 * coarse.nodes(2), [&](auto begin, auto end) {
    RowProduct<T> product(fine, coarse);
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t const sample = i / rows;
      product.write(Rows<T>(weights, sample, coarse), Rows<T>(couplings, sample, coarse), sample,
                    i % rows / coarse.nodes(1), i % coarse.nodes(1));
    }
  });
}

at::Tensor coarse_arrays(StencilSource const& fine, int count) {
  Grid3 const coarse = fine.grid().coarsened();
  return at::zeros({fine.batch(), count, coarse.nodes(0), coarse.nodes(1), coarse.nodes(2)},
                   fine.options());
}

}  // namespace

at::Tensor black_box_weights(StencilSource const& fine) {
  at::Tensor weights = coarse_arrays(fine, weight_count);
  if (weights.is_cuda()) {
    on_gpu::black_box_weights(fine, weights);
    return weights;
  }
  AT_DISPATCH_FLOATING_TYPES(weights.scalar_type(), "black_box_weights",
                             [&] { interpolate<scalar_t>(fine, weights); });
  return weights;
}

at::Tensor black_box_couplings(StencilSource const& fine, at::Tensor const& weights) {
  at::Tensor couplings = coarse_arrays(fine, coupling_count), from = weights;
  if (couplings.is_cuda()) {
    on_gpu::black_box_couplings(fine, weights, couplings);
    return couplings;
  }
  AT_DISPATCH_FLOATING_TYPES(couplings.scalar_type(), "black_box_couplings",
                             [&] { multiply<scalar_t>(fine, from, couplings); });
  return couplings;
}

}  // namespace voxcycle
