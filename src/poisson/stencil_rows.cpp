// SPDX-License-Identifier: BSD-3-Clause
#include "stencil_rows.hpp"

#include "element_matrix.hpp"
#include "row_loops.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

// Which of two neighbouring voxels an entry sums over, along one axis.
enum { low = 0, high = 1, both = 2 };

// A neighbour before shares the lower voxel, one behind the higher, none both.
constexpr int voxels_of(int offset) {
  return offset < 0 ? low : offset > 0 ? high : both;
}

// Entry (i, j) of K is the sum over the voxels that hold both nodes of nu times an entry of the
// element matrix, which depends only on the axes along which i and j differ.
template <class T>
class VoxelStencil : public StencilSource {
 public:
  VoxelStencil(Grid3 const& grid, at::Tensor const& nu)
      : StencilSource(Values::nu, grid, nu), element_(element_stiffness(grid)[0]) {}

  void row(std::int64_t sample, std::int64_t x, std::int64_t y, StencilRow& out,
           std::vector<double>& scratch) const override {
    std::int64_t const n = out.half(), stride = n + 2;
    // 8 rows of voxels split by parity, then sums over two voxels along z, y and x.
    scratch.assign((8 + 27) * stride, 0.0);
    auto part = [&](int i) { return scratch.data() + i * stride + 1; };
    for (int i = 0; i < 4; ++i) read(sample, x - 1 + i / 2, y - 1 + i % 2, part(2 * i), n);
    auto const& loops = row_loops::table().setup;
    for (int parity = 0; parity < 2; ++parity) {
      std::int64_t const count = n + 1 - parity;
      // sums[a][b][c]: over voxels a along x, b along y, c along z.
      double const* sums[3][3][3];
      int next = 8;
      auto add = [&](double const* first, double const* second) {
        double* const sum = part(next++);
        loops.add(sum, first, second, count);
        return sum;
      };
      for (int a = 0; a < 2; ++a) {
        for (int b = 0; b < 2; ++b) {
          double const *const even = part(4 * a + 2 * b), *const odd = part(4 * a + 2 * b + 1);
          sums[a][b][low] = parity == 0 ? odd - 1 : even;
          sums[a][b][high] = parity == 0 ? even : odd;
          sums[a][b][both] = add(sums[a][b][low], sums[a][b][high]);
        }
        for (int c = 0; c < 3; ++c) sums[a][both][c] = add(sums[a][low][c], sums[a][high][c]);
      }
      for (int b = 0; b < 3; ++b) {
        for (int c = 0; c < 3; ++c) sums[both][b][c] = add(sums[low][b][c], sums[high][b][c]);
      }
      for (int t = 0; t < offset_count; ++t) {
        auto const [tx, ty, tz] = offset_of(t);
        double const entry = element_[4 * (tx != 0) + 2 * (ty != 0) + (tz != 0)];
        loops.scale(out.entry(t, parity), sums[voxels_of(tx)][voxels_of(ty)][voxels_of(tz)], entry,
                    count);
      }
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
    for (std::int64_t k = 0; k < n; ++k) {
      even[k] = static_cast<double>(nu[2 * k]);
      odd[k] = static_cast<double>(nu[2 * k + 1]);
    }
  }

  std::array<double, 8> element_;
};

template <class T>
class CouplingStencil : public StencilSource {
 public:
  CouplingStencil(Grid3 const& grid, at::Tensor const& couplings)
      : StencilSource(Values::couplings, grid, couplings) {}

  void row(std::int64_t sample, std::int64_t x, std::int64_t y, StencilRow& out,
           std::vector<double>&) const override {
    std::int64_t const length = grid().nodes(2), nodes = grid().node_count();
    T const* const couplings =
        values().template const_data_ptr<T>() + sample * (offset_count - no_offset - 1) * nodes;
    out.clear();
    double *const even_sum = out.entry(no_offset, 0), *const odd_sum = out.entry(no_offset, 1);
    for (int t = 0; t < offset_count; ++t) {
      if (t == no_offset) continue;
      // The coupling is stored at whichever of the two nodes comes first.
      Offset const shift = t < no_offset ? offset_of(t) : Offset{0, 0, 0};
      std::int64_t const xs = x + shift[0], ys = y + shift[1];
      if (xs < 0 || xs >= grid().nodes(0) || ys < 0 || ys >= grid().nodes(1)) continue;
      int const slot = std::max(t, offset_count - 1 - t) - no_offset - 1;
      T const* const from =
          couplings + slot * nodes + (xs * grid().nodes(1) + ys) * length + shift[2];
      double *const even = out.entry(t, 0), *const odd = out.entry(t, 1);
      std::int64_t const n = out.half();
      for (std::int64_t k = 0; k < n; ++k) {
        odd[k] = static_cast<double>(from[2 * k + 1]);
        odd_sum[k] -= odd[k];
      }
      for (std::int64_t k = shift[2] < 0 ? 1 : 0; k <= (shift[2] > 0 ? n - 1 : n); ++k) {
        even[k] = static_cast<double>(from[2 * k]);
        even_sum[k] -= even[k];
      }
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
