// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/multigrid/transfer.hpp"

#include "voxcycle/poisson/parallel.hpp"

#include <algorithm>
#include <vector>

#include "poisson/operator/device.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

// The sizes of a field of `batch` samples, row by row.
struct RowAxes {
  std::int64_t nx, ny, length;

  static RowAxes of(at::Tensor const& field) {
    return {field.size(2), field.size(3), field.size(4)};
  }
  std::int64_t offset(std::int64_t sample, std::int64_t x, std::int64_t y) const {
    return ((sample * nx + x) * ny + y) * length;
  }
};

// Calls body(sample, x, y, buffer) for every row, with a buffer of `scratch` values a thread.
template <class T, class Body>
void for_each_row(std::int64_t batch, RowAxes const& rows, std::int64_t scratch, Body const& body) {
  parallel_for(batch * rows.nx * rows.ny, 8 * rows.length,
               [&](std::int64_t begin, std::int64_t end) {
                 std::vector<T> buffer(scratch);
                 for (std::int64_t i = begin; i < end; ++i) {
                   body(i / (rows.nx * rows.ny), i / rows.ny % rows.nx, i % rows.ny, buffer);
                 }
               });
}

template <class T>
void restrict_rows(at::Tensor const& r, at::Tensor& out) {
  RowAxes const from = RowAxes::of(r), to = RowAxes::of(out);
  auto const* const fine = r.const_data_ptr<T>();
  auto* const coarse = out.mutable_data_ptr<T>();
  // Room for the nodes that the last coarse one would have around it.
  std::int64_t const room = std::max(from.length, 2 * to.length);
  for_each_row<T>(r.size(0), to, room, [&](auto sample, auto x, auto y, std::vector<T>& sum) {
    std::fill(sum.begin(), sum.end(), T(0));
    for (std::int64_t dx = -1; dx <= 1; ++dx) {
      for (std::int64_t dy = -1; dy <= 1; ++dy) {
        std::int64_t const xf = 2 * x + dx, yf = 2 * y + dy;
        // Not those beyond the last coarse node, either.
        if (xf < 0 || xf >= std::min(from.nx, 2 * to.nx - 1) || yf < 0 ||
            yf >= std::min(from.ny, 2 * to.ny - 1)) {
          continue;
        }
        T const weight = (dx == 0 ? T(1) : T(0.5)) * (dy == 0 ? T(1) : T(0.5));
        T const* const row = fine + from.offset(sample, xf, yf);
        for (std::int64_t k = 0; k < from.length; ++k) {
          sum[k] += weight * row[k];
        }
      }
    }
    T* const row = coarse + to.offset(sample, x, y);
    std::int64_t const last = to.length - 1;
    row[0] = sum[0] + T(0.5) * sum[1];
    row[last] = sum[2 * last] + T(0.5) * sum[2 * last - 1];
    for (std::int64_t k = 1; k < last; ++k) {
      row[k] = sum[2 * k] + T(0.5) * (sum[2 * k - 1] + sum[2 * k + 1]);
    }
  });
}

template <class T>
void prolong_rows(at::Tensor const& e, at::Tensor& x_out) {
  RowAxes const to = RowAxes::of(x_out), from = RowAxes::of(e);
  auto const* const coarse = e.const_data_ptr<T>();
  auto* const fine = x_out.mutable_data_ptr<T>();
  for_each_row<T>(e.size(0), to, from.length, [&](auto sample, auto x, auto y, auto& mean) {
    if ((x + 1) / 2 >= from.nx || (y + 1) / 2 >= from.ny) return;
    // An odd index lies between two coarse ones; an even one is its own twice.
    T const* const rows[4] = {coarse + from.offset(sample, x / 2, y / 2),
                              coarse + from.offset(sample, x / 2, (y + 1) / 2),
                              coarse + from.offset(sample, (x + 1) / 2, y / 2),
                              coarse + from.offset(sample, (x + 1) / 2, (y + 1) / 2)};
    for (std::int64_t k = 0; k < from.length; ++k) {
      mean[k] = T(0.25) * ((rows[0][k] + rows[1][k]) + (rows[2][k] + rows[3][k]));
    }
    T* const row = fine + to.offset(sample, x, y);
    for (std::int64_t k = 0; k + 1 < from.length; ++k) {
      row[2 * k] += mean[k];
      row[2 * k + 1] += T(0.5) * (mean[k] + mean[k + 1]);
    }
    std::int64_t const last = from.length - 1;
    if (2 * last < to.length) row[2 * last] += mean[last];
  });
}

template <class T>
void average_rows(at::Tensor const& nu, at::Tensor& out) {
  RowAxes const from = RowAxes::of(nu), to = RowAxes::of(out);
  std::int64_t const pairs = std::min(to.length, from.length / 2);
  for_each_row<T>(nu.size(0), to, 0, [&](auto sample, auto x, auto y, std::vector<T>&) {
    T* const row = out.mutable_data_ptr<T>() + to.offset(sample, x, y);
    std::fill(row, row + to.length, T(0));
    for (std::int64_t child = 0; child < 4; ++child) {
      std::int64_t const xf = 2 * x + child / 2, yf = 2 * y + child % 2;
      if (xf >= from.nx || yf >= from.ny) continue;
      T const* const voxels = nu.const_data_ptr<T>() + from.offset(sample, xf, yf);
      for (std::int64_t k = 0; k < pairs; ++k) {
        row[k] += T(0.125) * (voxels[2 * k] + voxels[2 * k + 1]);
      }
      if (pairs < to.length) row[pairs] += T(0.125) * voxels[2 * pairs];
    }
  });
}

class TrilinearTransfer : public Transfer {
 public:
  explicit TrilinearTransfer(Grid3 const& coarse) : coarse_(coarse) {}

  at::Tensor restricted(at::Tensor const& r) const override { return restrict_nodes(r, coarse_); }
  void add_prolonged(at::Tensor& x, at::Tensor const& e) const override {
    voxcycle::add_prolonged(x, e);
  }

 private:
  Grid3 coarse_;
};

}  // namespace

std::unique_ptr<Transfer> trilinear_transfer(Grid3 const& coarse) {
  return std::make_unique<TrilinearTransfer>(coarse);
}

at::Tensor restrict_nodes(at::Tensor const& r, Grid3 const& coarse) {
  if (r.is_cuda()) return on_gpu::restrict_nodes(r, coarse);
  at::Tensor out = at::empty(coarse.node_shape(r.size(0)), r.options());
  AT_DISPATCH_FLOATING_TYPES(r.scalar_type(), "restrict_nodes",
                             [&] { restrict_rows<scalar_t>(r, out); });
  return out;
}

void add_prolonged(at::Tensor& x, at::Tensor const& e) {
  if (x.is_cuda()) return on_gpu::add_prolonged(x, e);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "add_prolonged",
                             [&] { prolong_rows<scalar_t>(e, x); });
}

at::Tensor average_voxels(at::Tensor const& nu, Grid3 const& coarse) {
  if (nu.is_cuda()) return on_gpu::average_voxels(nu, coarse);
  at::Tensor out = at::empty(coarse.voxel_shape(nu.size(0)), nu.options());
  AT_DISPATCH_FLOATING_TYPES(nu.scalar_type(), "average_voxels",
                             [&] { average_rows<scalar_t>(nu, out); });
  return out;
}

}  // namespace voxcycle
