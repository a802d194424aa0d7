// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/operator/stencil_rows.hpp"

#include "poisson/operator/element_matrix.hpp"
#include "poisson/operator/row_loops.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

// Entry (i, j) of K is the sum over the voxels that hold both nodes of nu times an entry of the
// element matrix, which depends only on the axes along which i and j differ.
template <class T>
class VoxelStencil : public StencilSource {
 public:
  VoxelStencil(Grid3 const& grid, at::Tensor const& nu)
      : StencilSource(Values::nu, grid, nu), element_(element_stiffness(grid)[0]) {}

  void row(std::int64_t sample, std::int64_t x, std::int64_t y, RowNodes nodes, StencilRow& out,
           std::vector<double>& scratch) const override {
    std::int64_t const n = out.half(), stride = n + 2;
    scratch.assign(8 * stride, 0.0);  // 4 rows of voxels split by parity
    auto const part = [&](int i) { return scratch.data() + i * stride + 1; };
    for (int i = 0; i < 4; ++i) read(sample, x - 1 + i / 2, y - 1 + i % 2, part(2 * i), n);
    for (int parity = 0; parity < 2; ++parity) {
      if (nodes == (parity == 0 ? RowNodes::odd : RowNodes::even)) continue;
      std::array<double const*, 8> around;
      for (int i = 0; i < 4; ++i) {
        double const *const even = part(2 * i), *const odd = part(2 * i + 1);
        around[2 * i] = parity == 0 ? odd - 1 : even;
        around[2 * i + 1] = parity == 0 ? even : odd;
      }
      std::array<double*, offset_count> entries;
      for (int t = 0; t < offset_count; ++t) entries[t] = out.entry(t, parity);
      row_loops::table().setup.voxel_stencil(entries.data(), around.data(), element_.data(),
                                             (grid().nodes(2) + 1 - parity) / 2);
    }
  }

 private:
  // A row of voxels, even ones at `even`, odd ones a stride behind; nothing outside of the box.
  void read(std::int64_t sample, std::int64_t xv, std::int64_t yv, double* even,
            std::int64_t n) const {
    auto const [nx, ny, nz] = grid().voxels;
    if (xv < 0 || xv >= nx || yv < 0 || yv >= ny) return;
    T const* const nu = values().template const_data_ptr<T>() + ((sample * nx + xv) * ny + yv) * nz;
    double* const odd = even + n + 2;
    for (std::int64_t k = 0; k < nz / 2; ++k) {
      even[k] = static_cast<double>(nu[2 * k]);
      odd[k] = static_cast<double>(nu[2 * k + 1]);
    }
    if (nz % 2 != 0) even[nz / 2] = static_cast<double>(nu[nz - 1]);
  }

  std::array<double, 8> element_;
};

template <class T>
class CouplingStencil : public StencilSource {
 public:
  CouplingStencil(Grid3 const& grid, at::Tensor const& couplings)
      : StencilSource(Values::couplings, grid, couplings) {}

  void row(std::int64_t sample, std::int64_t x, std::int64_t y, RowNodes nodes, StencilRow& out,
           std::vector<double>&) const override {
    std::int64_t const length = grid().nodes(2), count = grid().node_count();
    int const kept = static_cast<int>(values().size(1));
    T const* const couplings = values().template const_data_ptr<T>() + sample * kept * count;
    out.clear();
    for (int t = 0; t < offset_count; ++t) {
      int const slot = t == no_offset ? -1 : coupling_slot(t, kept);
      if (slot < 0) continue;
      // The coupling is stored at whichever of the two nodes comes first.
      Offset const shift = t < no_offset ? offset_of(t) : Offset{0, 0, 0};
      std::int64_t const xs = x + shift[0], ys = y + shift[1];
      if (xs < 0 || xs >= grid().nodes(0) || ys < 0 || ys >= grid().nodes(1)) continue;
      T const* const from =
          couplings + slot * count + (xs * grid().nodes(1) + ys) * length + shift[2];
      for (int parity = 0; parity < 2; ++parity) {
        if (nodes == (parity == 0 ? RowNodes::odd : RowNodes::even)) continue;
        std::int64_t const first = parity == 0 && shift[2] < 0 ? 1 : 0;
        std::int64_t const end = (length - parity - std::max(shift[2], 0) + 1) / 2;
        take(from + parity, first, end, out.entry(t, parity), out.entry(no_offset, parity));
      }
    }
  }

 private:
  // Every other value from `first` on, for k from begin to end.
  static void take(T const* first, std::int64_t begin, std::int64_t end, double* entry,
                   double* sum) {
    for (std::int64_t k = begin; k < end; ++k) {
      entry[k] = static_cast<double>(first[2 * k]);
      sum[k] -= entry[k];
    }
  }
};

template <template <class> class Source>
std::unique_ptr<StencilSource> make(Grid3 const& grid, at::Tensor const& values) {
  std::unique_ptr<StencilSource> result;
  AT_DISPATCH_FLOATING_TYPES(values.scalar_type(), "stencil",
                             [&] { result = std::make_unique<Source<scalar_t>>(grid, values); });
  return result;
}

}  // namespace

std::unique_ptr<StencilSource> voxel_stencil(Grid3 const& grid, at::Tensor const& nu) {
  return make<VoxelStencil>(grid, nu);
}

std::unique_ptr<StencilSource> coupling_stencil(Grid3 const& grid, at::Tensor const& couplings) {
  return make<CouplingStencil>(grid, couplings);
}

}  // namespace voxcycle
