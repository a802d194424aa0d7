// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/parallel.hpp"

#include <algorithm>
#include <vector>

#include "poisson/multigrid/black_box.hpp"
#include "poisson/multigrid/transfer.hpp"
#include "poisson/operator/device.hpp"
#include "poisson/operator/row_loops.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

// A fine row split by the parity of z, with zeros before the odd values, and after the even and the
// odd ones up to the coarse row's end.
template <class T>
class SplitRow {
 public:
  /// @param n       coarse nodes but one
  /// @param length  fine nodes: from 2n to 2n + 2
  SplitRow(std::int64_t n, std::int64_t length) : n_(n), length_(length), values_(2 * n + 3) {}
  T* even() { return values_.data(); }
  T* odd() { return values_.data() + n_ + 2; }
  std::int64_t odd_count() const { return length_ / 2; }
  void clear() { std::fill(values_.begin(), values_.end(), T(0)); }

  void read(T const* row) {
    row_loops::loops<T>().split(row, even(), odd(), pairs());
    if (length_ % 2 == 0) odd()[pairs()] = row[length_ - 1];
  }
  void add_to(T* row) {
    row_loops::loops<T>().merge(row, even(), odd(), pairs());
    if (length_ % 2 == 0) row[length_ - 1] += odd()[pairs()];
  }

 private:
  std::int64_t pairs() const { return (length_ - 1) / 2; }

  std::int64_t n_, length_;
  std::vector<T> values_;
};

class BlackBoxTransfer : public Transfer {
 public:
  BlackBoxTransfer(Grid3 const& fine, at::Tensor const& weights)
      : fine_(fine),
        coarse_{{weights.size(2) - 1, weights.size(3) - 1, weights.size(4) - 1}},
        weights_(weights) {}

  at::Tensor restricted(at::Tensor const& r) const override {
    if (r.is_cuda()) return on_gpu::restrict_by_weights(weights_, r);
    at::Tensor out = at::empty(coarse_.node_shape(r.size(0)), r.options());
    AT_DISPATCH_FLOATING_TYPES(r.scalar_type(), "black_box_restrict", [&] {
      restrict_rows(r.const_data_ptr<scalar_t>(), out.mutable_data_ptr<scalar_t>());
    });
    return out;
  }

  void add_prolonged(at::Tensor& x, at::Tensor const& e) const override {
    if (x.is_cuda()) return on_gpu::add_prolonged_by_weights(weights_, x, e);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "black_box_prolong", [&] {
      prolong_rows(e.const_data_ptr<scalar_t>(), x.mutable_data_ptr<scalar_t>());
    });
  }

 private:
  template <class T>
  T const* weight_row(int t, std::int64_t sample, std::int64_t x, std::int64_t y) const {
    return weights_.const_data_ptr<T>() +
           (sample * weight_count + weight_slot(t)) * coarse_.node_count() +
           (x * coarse_.nodes(1) + y) * coarse_.nodes(2);
  }

  template <class T>
  void restrict_rows(T const* r, T* out) const {
    std::int64_t const rows = coarse_.nodes(0) * coarse_.nodes(1), n = coarse_.voxels[2];
    auto const& loops = row_loops::loops<T>();
    parallel_for(weights_.size(0) * rows, 60 * n, [&](std::int64_t begin, std::int64_t end) {
      SplitRow<T> split(n, fine_.nodes(2));
      for (std::int64_t i = begin; i < end; ++i) {
        std::int64_t const sample = i / rows, x = i % rows / coarse_.nodes(1);
        std::int64_t const y = i % coarse_.nodes(1);
        T* const row = out + i * (n + 1);
        std::fill(row, row + n + 1, T(0));
        for (int line = 0; line < 9; ++line) {
          std::int64_t const xf = 2 * x + line / 3 - 1, yf = 2 * y + line % 3 - 1;
          if (xf < 0 || xf >= fine_.nodes(0) || yf < 0 || yf >= fine_.nodes(1)) continue;
          std::int64_t const fine_row =
              sample * fine_.node_count() + (xf * fine_.nodes(1) + yf) * fine_.nodes(2);
          split.read(r + fine_row);
          for (int z = -1; z <= 1; ++z) {
            int const t = 3 * line + z + 1;
            if (t == no_offset) {
              for (std::int64_t k = 0; k <= n; ++k) row[k] += split.even()[k];
              continue;
            }
            T const* const values = z == 0 ? split.even() : z < 0 ? split.odd() - 1 : split.odd();
            loops.multiply_add(row, weight_row<T>(t, sample, x, y), values, n + 1);
          }
        }
      }
    });
  }

  template <class T>
  void prolong_rows(T const* e, T* x_out) const {
    std::int64_t const rows = fine_.nodes(0) * fine_.nodes(1), n = coarse_.voxels[2];
    auto const& loops = row_loops::loops<T>();
    parallel_for(weights_.size(0) * rows, 30 * n, [&](std::int64_t begin, std::int64_t end) {
      SplitRow<T> sum(n, fine_.nodes(2));
      for (std::int64_t i = begin; i < end; ++i) {
        std::int64_t const sample = i / rows, xf = i % rows / fine_.nodes(1);
        std::int64_t const yf = i % fine_.nodes(1);
        sum.clear();
        // An odd fine index has a coarse one before it and, mostly, after it; an even one is its
        // own.
        std::int64_t const last_x = std::min((xf + 1) / 2, coarse_.voxels[0]);
        std::int64_t const last_y = std::min((yf + 1) / 2, coarse_.voxels[1]);
        for (std::int64_t x = xf / 2; x <= last_x; ++x) {
          for (std::int64_t y = yf / 2; y <= last_y; ++y) {
            Offset const o{static_cast<int>(xf - 2 * x), static_cast<int>(yf - 2 * y), 0};
            int const t = index_of(o);
            T const* const from =
                e + sample * coarse_.node_count() + (x * coarse_.nodes(1) + y) * (n + 1);
            if (t == no_offset) {
              for (std::int64_t k = 0; k <= n; ++k) sum.even()[k] += from[k];
            } else {
              loops.multiply_add(sum.even(), weight_row<T>(t, sample, x, y), from, n + 1);
            }
            loops.multiply_add(sum.odd(), weight_row<T>(t + 1, sample, x, y), from,
                               sum.odd_count());
            loops.multiply_add(sum.odd(), weight_row<T>(t - 1, sample, x, y) + 1, from + 1, n);
          }
        }
        sum.add_to(x_out + i * fine_.nodes(2));
      }
    });
  }

  Grid3 fine_, coarse_;
  at::Tensor weights_;  // [B, 26, coarse nodes]
};

}  // namespace

std::unique_ptr<Transfer> black_box_transfer(Grid3 const& fine, at::Tensor const& weights) {
  return std::make_unique<BlackBoxTransfer>(fine, weights);
}

}  // namespace voxcycle
