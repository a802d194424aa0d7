// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/multigrid/black_box.hpp"

#include "voxcycle/poisson/parallel.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>
#include <vector>

#include "poisson/operator/device.hpp"
#include "poisson/operator/row_loops.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

// One sample's rows of nodal arrays [count, coarse nodes].
template <class T>
struct Rows {
  T* values;
  std::int64_t nx, ny, length;

  Rows(at::Tensor& tensor, std::int64_t sample)
      : values(tensor.mutable_data_ptr<T>() + sample * tensor.stride(0)),
        nx(tensor.size(2)),
        ny(tensor.size(3)),
        length(tensor.size(4)) {}
  bool holds(std::int64_t x, std::int64_t y) const { return x >= 0 && x < nx && y >= 0 && y < ny; }
  T* row(int slot, std::int64_t x, std::int64_t y) const {
    return values + ((slot * nx + x) * ny + y) * length;
  }
};

// The fine nodes that are between coarse ones along some axes, and on coarse ones along the others:
// on edges, on faces or in voxels of the coarse grid. Such nodes are odd.
struct OddNodes {
  std::array<bool, 3> odd;
  std::array<int, offset_count> collapsed{};  // each offset without its parts along even axes
  std::vector<int> neighbours;                // with an equation of their own: all those but none
  std::vector<int> corners;                   // the coarse nodes among them

  explicit OddNodes(std::array<bool, 3> const& odd_in) : odd(odd_in) {
    for (int t = 0; t < offset_count; ++t) {
      Offset part = offset_of(t);
      for (int a = 0; a < 3; ++a) part[a] = odd[a] ? part[a] : 0;
      collapsed[t] = index_of(part);
      if (collapsed[t] != t || t == no_offset) continue;
      neighbours.push_back(t);
      bool corner = true;
      for (int a = 0; a < 3; ++a) corner = corner && odd[a] == (part[a] != 0);
      if (corner) corners.push_back(t);
    }
  }

  static OddNodes const& of(bool odd_x, bool odd_y, bool odd_z) {
    static std::vector<OddNodes> const all = [] {
      std::vector<OddNodes> nodes;
      for (int i = 0; i < 8; ++i)
        nodes.emplace_back(std::array{i / 4 != 0, i / 2 % 2 != 0, i % 2 != 0});
      return nodes;
    }();
    return all[4 * odd_x + 2 * odd_y + odd_z];
  }
};

// Whether a lies between zero and c along every axis.
bool towards(Offset const& a, Offset const& c) {
  for (int axis = 0; axis < 3; ++axis) {
    if (a[axis] != 0 && a[axis] != c[axis]) return false;
  }
  return true;
}

// Some fine nodes of a row: every second one, from `first` on.
struct Stretch {
  int first;
  std::int64_t count;
  std::array<bool, 3> between;  // of AxisCoarsening, along each axis
  Offset shift;                 // of AxisCoarsening
};

// Interpolation to rows of fine nodes along z.
template <class T>
class RowInterpolation {
 public:
  // For rows of 2n + 2 fine nodes at most.
  explicit RowInterpolation(std::int64_t n)
      : ones_(n + 1, T(1)),
        sense_(n + 1),
        sum_(n + 1),
        collapsed_(offset_count, std::vector<double>(n + 1)),
        shares_(8, std::vector<double>(n + 1)) {}

  // To some nodes of row (x, y).
  void write(Rows<T> const& weights, StencilRow const& stencil, std::int64_t x, std::int64_t y,
             Stretch const& some) {
    OddNodes const& nodes = OddNodes::of(some.between[0], some.between[1], some.between[2]);
    std::int64_t const count = some.count;
    // The weights that the coarse node at f + c gives to f + o + c, for f of the stretch. Its place
    // is at f + c + shift.
    auto const weight = [&](Offset const& o, Offset const& c) {
      auto const [sx, sy, sz] = some.shift;
      int const slot = weight_slot(index_of(o[0] - sx, o[1] - sy, o[2] - sz));
      return weights.row(slot, (x + c[0] + sx) / 2, (y + c[1] + sy) / 2) +
             (some.first + c[2] + sz) / 2;
    };
    collapse(nodes, stencil, some);
    for (std::size_t i = 0; i < nodes.corners.size(); ++i) {
      Offset const c = offset_of(nodes.corners[i]);
      // What the corner c gives, times sum: by itself and through nodes nearer to it.
      std::fill_n(shares_[i].begin(), count, 0.0);
      for (int neighbour : nodes.neighbours) {
        Offset const d = offset_of(neighbour);
        if (!towards(d, c)) continue;
        T const* const known =
            d == c ? ones_.data() : weight({d[0] - c[0], d[1] - c[1], d[2] - c[2]}, c);
        row_loops::loops<T>().weigh(shares_[i].data(), collapsed_[neighbour].data(), known, count);
      }
    }
    share_out(nodes.corners.size(), count);
    for (std::size_t i = 0; i < nodes.corners.size(); ++i) {
      Offset const c = offset_of(nodes.corners[i]);
      row_loops::loops<T>().narrow(weight({-c[0], -c[1], -c[2]}, c), shares_[i].data(), count);
    }
  }

 private:
  // -1 times the couplings to each neighbour, summed along the even axes, and the sum of all.
  void collapse(OddNodes const& nodes, StencilRow const& stencil, Stretch const& some) {
    auto const& loops = row_loops::table().setup;
    std::int64_t const count = some.count;
    for (int d : nodes.neighbours) std::fill_n(collapsed_[d].begin(), count, 0.0);
    for (int t = 0; t < offset_count; ++t) {
      int const d = nodes.collapsed[t];
      if (d == no_offset) continue;
      double const* const entries = stencil.entry(t, some.first % 2) + some.first / 2;
      loops.subtract(collapsed_[d].data(), entries, count);
    }
    std::fill_n(sum_.begin(), count, 0.0);
    for (int d : nodes.neighbours) loops.add(sum_.data(), collapsed_[d].data(), count);
  }

  // Shares of the sum, or equal ones where those make no sense.
  void share_out(std::size_t corners, std::int64_t count) {
    auto const& loops = row_loops::table().setup;
    bool const edge = corners == 2;
    double const minimum = edge ? 0.0 : -1.0, maximum = edge ? 1.0 : 2.0;
    for (std::int64_t k = 0; k < count; ++k) sense_[k] = sum_[k] > 0.0 ? 1.0 : 0.0;
    for (std::size_t i = 0; i < corners; ++i) {
      loops.divide(shares_[i].data(), sum_.data(), minimum, maximum, sense_.data(), count);
    }
    for (std::size_t i = 0; i < corners; ++i) {
      loops.replace(shares_[i].data(), sense_.data(), 1.0 / static_cast<double>(corners), count);
    }
  }

  std::vector<T> ones_;
  std::vector<double> sense_, sum_;             // sense: 0 where the shares make none
  std::vector<std::vector<double>> collapsed_;  // by offset
  std::vector<std::vector<double>> shares_;     // by corner
};

template <class T>
void interpolate(StencilSource const& fine, GridCoarsening const& coarsening, at::Tensor& weights) {
  Grid3 const& grid = fine.grid();
  std::int64_t const rows = grid.nodes(0) * grid.nodes(1), half = weights.size(4) - 1;
  AxisCoarsening const& along_z = coarsening[2];
  int const last = along_z.points - 1;
  // Edges, faces, voxels: each needs the ones before.
  for (int axes = 1; axes <= 3; ++axes) {
    parallel_for(fine.batch() * rows, 60 * grid.nodes(2), [&](auto begin, auto end) {
      StencilRow stencil(half);
      RowInterpolation<T> interpolation(half);
      std::vector<double> scratch;
      for (std::int64_t i = begin; i < end; ++i) {
        std::int64_t const sample = i / rows;
        int const x = static_cast<int>(i % rows / grid.nodes(1));
        int const y = static_cast<int>(i % grid.nodes(1));
        bool const between_x = coarsening[0].between(x), between_y = coarsening[1].between(y);
        int const left = axes - (between_x ? 1 : 0) - (between_y ? 1 : 0);
        if (left < 0 || left > 1) continue;
        bool const between_z = left == 1;
        bool const has_end = !between_z && last % 2 != 0;
        auto const nodes = between_z ? RowNodes::odd : has_end ? RowNodes::all : RowNodes::even;
        fine.row(sample, x, y, nodes, stencil, scratch);
        Stretch some{
            between_z ? 1 : 0,
            along_z.count(between_z) - (has_end ? 1 : 0),
            {between_x, between_y, between_z},
            {between_x ? 0 : coarsening[0].shift(x), between_y ? 0 : coarsening[1].shift(y), 0}};
        interpolation.write(Rows<T>(weights, sample), stencil, x, y, some);
        if (!has_end) continue;
        some.first = last;
        some.count = 1;
        some.shift[2] = along_z.shift(last);
        interpolation.write(Rows<T>(weights, sample), stencil, x, y, some);
      }
    });
  }
}

// One, of the fine nodes that lie on a coarse one whose place is elsewhere.
void set_shifted(GridCoarsening const& coarsening, at::Tensor const& weights) {
  for (int shifted = 1; shifted < 8; ++shifted) {
    at::Tensor part = weights;
    Offset from_place{};
    for (int axis = 0; axis < 3 && part.defined(); ++axis) {
      AxisCoarsening const& along = coarsening[axis];
      int const shift = along.shift(along.points - 1), last = along.coarse() - 1;
      if ((shifted >> axis & 1) != 0) {
        from_place[axis] = -shift;
        part = shift == 0 ? at::Tensor() : part.narrow(2 + axis, last, 1);
      } else if (shift > 0) {
        part = part.narrow(2 + axis, 0, last);  // there is no fine node at the place of the last
      }
    }
    if (part.defined()) part.select(1, weight_slot(index_of(from_place))).fill_(1.0);
  }
}

// The parts P(f, I) (K(f, g) P(g, J) + ...) of the coupling between coarse nodes I and J = I + step
// that belong to one fine node f = 2I + from, with the fine nodes g = f + by = 2J + to.
struct Part {
  int from;             // offset
  std::vector<int> by;  // offsets
  std::vector<int> to;  // offsets, of each `by`
};

// All of them. For the 13 steps they have 927 terms.
std::vector<Part> parts_of(int step_index) {
  Offset const step = offset_of(step_index);
  std::vector<Part> parts;
  for (int from = 0; from < offset_count; ++from) {
    Part part{from, {}, {}};
    for (int by = 0; by < offset_count; ++by) {
      Offset const f = offset_of(from), o = offset_of(by);
      Offset const to{f[0] + o[0] - 2 * step[0], f[1] + o[1] - 2 * step[1],
                      f[2] + o[2] - 2 * step[2]};
      if (std::abs(to[0]) > 1 || std::abs(to[1]) > 1 || std::abs(to[2]) > 1) continue;
      part.by.push_back(by);
      part.to.push_back(index_of(to));
    }
    if (!part.by.empty()) parts.push_back(part);
  }
  return parts;
}

// What the coarse nodes of a row give to the fine nodes around them, in float64.
class WeightRow {
 public:
  explicit WeightRow(std::int64_t length) : length_(length), rows_(offset_count, length) {
    rows_.fill(1.0);
  }

  double const* to(int t) const { return rows_.row(t); }

  template <class T>
  void read(Rows<T> const& weights, std::int64_t x, std::int64_t y) {
    for (int t = 0; t < offset_count; ++t) {
      if (t == no_offset) continue;
      row_loops::loops<T>().widen(rows_.row(t), weights.row(weight_slot(t), x, y), length_);
    }
  }

 private:
  std::int64_t length_;
  AlignedRows rows_;
};

// The couplings of one row of coarse nodes.
template <class T>
class RowProduct {
 public:
  /// @param length  of rows of coarse nodes
  RowProduct(StencilSource const& fine, std::int64_t length)
      : fine_(fine),
        stencils_(9, StencilRow(length - 1)),
        weights_(9, WeightRow(length)),
        sum_(length) {}

  void write(Rows<T> const& weights, Rows<T> const& out, std::int64_t sample, std::int64_t x,
             std::int64_t y) {
    static std::vector<std::vector<Part>> const all_parts = [] {
      std::vector<std::vector<Part>> all;
      for (int s = no_offset + 1; s < offset_count; ++s) all.push_back(parts_of(s));
      return all;
    }();
    read(weights, sample, x, y);
    for (int s = no_offset + 1; s < offset_count; ++s) {
      Offset const step = offset_of(s);
      if (!weights.holds(x + step[0], y + step[1])) continue;
      std::fill(sum_.begin(), sum_.end(), 0.0);
      for (Part const& part : all_parts[s - no_offset - 1]) {
        if (present_[part.from / 3]) add(part, weights_[s / 3], step[2]);
      }
      T* const row = out.row(s - no_offset - 1, x, y);
      row_loops::loops<T>().narrow(row, sum_.data(), std::ssize(sum_));
    }
  }

 private:
  using Place = std::array<std::int64_t, 3>;
  static constexpr int here = no_offset / 3;  // of 9 rows around (x, y)

  // The fine rows around coarse row (x, y), and the weights of that and those that come behind.
  // Some of them are there from (x, y - 1), if that was before.
  void read(Rows<T> const& weights, std::int64_t sample, std::int64_t x, std::int64_t y) {
    Grid3 const& grid = fine_.grid();
    bool const next = read_ == Place{sample, x, y - 1};
    for (int i = 0; i < 9; ++i) {
      int const dx = i / 3 - 1, dy = i % 3 - 1;
      std::int64_t const xf = 2 * x + dx, yf = 2 * y + dy;
      present_[i] = xf >= 0 && xf < grid.nodes(0) && yf >= 0 && yf < grid.nodes(1);
      if (next && dy < 0) {
        std::swap(stencils_[i], stencils_[i + 2]);
      } else if (present_[i]) {
        fine_.row(sample, xf, yf, RowNodes::all, stencils_[i], scratch_);
      }
      if (i < here || !weights.holds(x + dx, y + dy)) continue;
      if (next && dy < 1) {
        std::swap(weights_[i], weights_[i + 1]);
      } else {
        weights_[i].read(weights, x + dx, y + dy);
      }
    }
    read_ = {sample, x, y};
  }

  // For all nodes I of the row, whose neighbours J are step_z further. @param others  P(., J)
  void add(Part const& part, WeightRow const& others, int step_z) {
    std::int64_t const first = step_z < 0 ? 1 : 0;
    std::int64_t const count = std::ssize(sum_) - (step_z != 0 ? 1 : 0);
    int const z = part.from % 3 - 1, terms = static_cast<int>(part.by.size());
    std::array<double const*, offset_count> a, q;
    for (int i = 0; i < terms; ++i) {
      a[i] = stencils_[part.from / 3].entry(part.by[i], z != 0 ? 1 : 0) + (z < 0 ? -1 : 0) + first;
      q[i] = others.to(part.to[i]) + first + step_z;
    }
    row_loops::table().setup.congruence(sum_.data() + first, weights_[here].to(part.from) + first,
                                        a.data(), q.data(), terms, count);
  }

  StencilSource const& fine_;
  std::vector<StencilRow> stencils_;  // of the fine rows around
  std::vector<WeightRow> weights_;    // of the coarse rows from `here` on
  std::array<bool, 9> present_{};
  Place read_{-1, -1, -1};
  std::vector<double> sum_, scratch_;
};

template <class T>
void multiply(StencilSource const& fine, at::Tensor& weights, at::Tensor& couplings) {
  std::int64_t const ny = couplings.size(3), length = couplings.size(4);
  std::int64_t const rows = couplings.size(2) * ny;
  parallel_for(fine.batch() * rows, 3000 * length, [&](auto begin, auto end) {
    RowProduct<T> product(fine, length);
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t const sample = i / rows;
      product.write(Rows<T>(weights, sample), Rows<T>(couplings, sample), sample, i % rows / ny,
                    i % ny);
    }
  });
}

}  // namespace

at::Tensor black_box_weights(StencilSource const& fine, GridCoarsening const& coarsening) {
  at::Tensor weights = at::zeros({fine.batch(), weight_count, coarsening[0].coarse(),
                                  coarsening[1].coarse(), coarsening[2].coarse()},
                                 fine.options());
  set_shifted(coarsening, weights);
  if (weights.is_cuda()) {
    on_gpu::black_box_weights(fine, coarsening, weights);
    return weights;
  }
  AT_DISPATCH_FLOATING_TYPES(weights.scalar_type(), "black_box_weights",
                             [&] { interpolate<scalar_t>(fine, coarsening, weights); });
  return weights;
}

at::Tensor black_box_couplings(StencilSource const& fine, at::Tensor const& weights) {
  at::Tensor from = weights;
  at::Tensor couplings = at::zeros(
      {weights.size(0), coupling_count, weights.size(2), weights.size(3), weights.size(4)},
      weights.options());
  if (couplings.is_cuda()) {
    on_gpu::black_box_couplings(fine, weights, couplings);
    return couplings;
  }
  AT_DISPATCH_FLOATING_TYPES(couplings.scalar_type(), "black_box_couplings",
                             [&] { multiply<scalar_t>(fine, from, couplings); });
  return couplings;
}

}  // namespace voxcycle
