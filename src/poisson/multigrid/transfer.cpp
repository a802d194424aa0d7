// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/multigrid/transfer.hpp"

#include "voxcycle/poisson/parallel.hpp"

#include <algorithm>
#include <vector>

#include "poisson/operator/device.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

// The sizes of a nodal or voxel field of `batch` samples, row by row.
struct RowAxes {
  std::int64_t nx, ny, length;

  static RowAxes of_nodes(Grid3 const& grid) {
    return {grid.nodes(0), grid.nodes(1), grid.nodes(2)};
  }
  static RowAxes of_voxels(Grid3 const& grid) {
    return {grid.voxels[0], grid.voxels[1], grid.voxels[2]};
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
void restrict_rows(T const* r, T* out, std::int64_t batch, Grid3 const& fine) {
  RowAxes const from = RowAxes::of_nodes(fine), to = RowAxes::of_nodes(fine.coarsened());
  for_each_row<T>(batch, to, from.length, [&](auto sample, auto x, auto y, std::vector<T>& sum) {
    std::fill(sum.begin(), sum.end(), T(0));
    for (std::int64_t dx = -1; dx <= 1; ++dx) {
      for (std::int64_t dy = -1; dy <= 1; ++dy) {
        std::int64_t const xf = 2 * x + dx, yf = 2 * y + dy;
        if (xf < 0 || xf >= from.nx || yf < 0 || yf >= from.ny) {
          continue;
        }
        T const weight = (dx == 0 ? T(1) : T(0.5)) * (dy == 0 ? T(1) : T(0.5));
        T const* const row = r + from.offset(sample, xf, yf);
        for (std::int64_t k = 0; k < from.length; ++k) {
          sum[k] += weight * row[k];
        }
      }
    }
    T* const row = out + to.offset(sample, x, y);
    std::int64_t const last = to.length - 1;
    row[0] = sum[0] + T(0.5) * sum[1];
    row[last] = sum[2 * last] + T(0.5) * sum[2 * last - 1];
    for (std::int64_t k = 1; k < last; ++k) {
      row[k] = sum[2 * k] + T(0.5) * (sum[2 * k - 1] + sum[2 * k + 1]);
    }
  });
}

template <class T>
void prolong_rows(T const* e, T* x_out, std::int64_t batch, Grid3 const& fine) {
  RowAxes const to = RowAxes::of_nodes(fine), from = RowAxes::of_nodes(fine.coarsened());
  for_each_row<T>(batch, to, from.length, [&](auto sample, auto x, auto y, std::vector<T>& mean) {
    // An odd index lies between two coarse ones; an even one is its own twice.
    T const* const rows[4] = {e + from.offset(sample, x / 2, y / 2),
                              e + from.offset(sample, x / 2, (y + 1) / 2),
                              e + from.offset(sample, (x + 1) / 2, y / 2),
                              e + from.offset(sample, (x + 1) / 2, (y + 1) / 2)};
    for (std::int64_t k = 0; k < from.length; ++k) {
      mean[k] = T(0.25) * ((rows[0][k] + rows[1][k]) + (rows[2][k] + rows[3][k]));
    }
    T* const row = x_out + to.offset(sample, x, y);
    for (std::int64_t k = 0; k + 1 < from.length; ++k) {
      row[2 * k] += mean[k];
      row[2 * k + 1] += T(0.5) * (mean[k] + mean[k + 1]);
    }
    row[to.length - 1] += mean[from.length - 1];
  });
}

template <class T>
void average_rows(T const* nu, T* out, std::int64_t batch, Grid3 const& fine) {
  RowAxes const from = RowAxes::of_voxels(fine), to = RowAxes::of_voxels(fine.coarsened());
  for_each_row<T>(batch, to, 0, [&](auto sample, auto x, auto y, std::vector<T>&) {
    T* const row = out + to.offset(sample, x, y);
    std::fill(row, row + to.length, T(0));
    for (std::int64_t child = 0; child < 4; ++child) {
      T const* const voxels = nu + from.offset(sample, 2 * x + child / 2, 2 * y + child % 2);
      for (std::int64_t k = 0; k < to.length; ++k) {
        row[k] += T(0.125) * (voxels[2 * k] + voxels[2 * k + 1]);
      }
    }
  });
}

class TrilinearTransfer : public Transfer {
 public:
  explicit TrilinearTransfer(Grid3 const& fine) : fine_(fine) {}

  at::Tensor restricted(at::Tensor const& r) const override { return restrict_nodes(r, fine_); }
  void add_prolonged(at::Tensor& x, at::Tensor const& e) const override {
    voxcycle::add_prolonged(x, e, fine_);
  }

 private:
  Grid3 fine_;
};

}  // namespace

std::unique_ptr<Transfer> trilinear_transfer(Grid3 const& fine) {
  return std::make_unique<TrilinearTransfer>(fine);
}

at::Tensor restrict_nodes(at::Tensor const& r, Grid3 const& fine) {
  if (r.is_cuda()) return on_gpu::restrict_nodes(r, fine);
  Grid3 const coarse = fine.coarsened();
  at::Tensor out = at::empty(coarse.node_shape(r.size(0)), r.options());
  AT_DISPATCH_FLOATING_TYPES(r.scalar_type(), "restrict_nodes", [&] {
    restrict_rows(r.const_data_ptr<scalar_t>(), out.mutable_data_ptr<scalar_t>(), r.size(0), fine);
  });
  return out;
}

void add_prolonged(at::Tensor& x, at::Tensor const& e, Grid3 const& fine) {
  if (x.is_cuda()) return on_gpu::add_prolonged(x, e);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "add_prolonged", [&] {
    prolong_rows(e.const_data_ptr<scalar_t>(), x.mutable_data_ptr<scalar_t>(), x.size(0), fine);
  });
}

at::Tensor average_voxels(at::Tensor const& nu, Grid3 const& fine) {
  if (nu.is_cuda()) return on_gpu::average_voxels(nu);
  Grid3 const coarse = fine.coarsened();
  at::Tensor out = at::empty(coarse.voxel_shape(nu.size(0)), nu.options());
  AT_DISPATCH_FLOATING_TYPES(nu.scalar_type(), "average_voxels", [&] {
    average_rows(nu.const_data_ptr<scalar_t>(), out.mutable_data_ptr<scalar_t>(), nu.size(0), fine);
  });
  return out;
}

}  // namespace voxcycle
