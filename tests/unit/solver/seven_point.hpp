// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/poisson/boundary.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include <ATen/ATen.h>

namespace voxcycle::testing {

/// Cell-centred finite volumes written from the definition: resistances of half voxels in series,
/// a dense matrix, voxels of 0 and those that reach no Dirichlet face through faces left out.
struct SevenPoint {
  at::Tensor u;                  ///< [nx, ny, nz], NaN where there is no equation
  std::array<double, 6> into{};  ///< flow into the box through each face
};

/// @param nu, f  [nx, ny, nz], float64
inline SevenPoint solve_seven_point(Grid3 const& grid, Boundary const& boundary,
                                    at::Tensor const& nu, at::Tensor const& f) {
  auto const [nx, ny, nz] = grid.voxels;
  std::int64_t const count = grid.voxel_count();
  double const volume = grid.spacing(0) * grid.spacing(1) * grid.spacing(2);
  auto const* const k = nu.const_data_ptr<double>();
  at::Tensor matrix = at::zeros({count, count}, at::kDouble);
  at::Tensor load = (f * volume).reshape({count}).clone();
  auto a = matrix.accessor<double, 2>();
  auto b = load.accessor<double, 1>();
  std::vector<bool> reached(static_cast<std::size_t>(count), false);
  auto const half = [&](std::int64_t i, int axis) {
    return k[i] * 2.0 * volume / (grid.spacing(axis) * grid.spacing(axis));
  };
  auto const for_faces = [&](auto const& body) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::array<std::int64_t, 3> const at{i / (ny * nz), i / nz % ny, i % nz};
      std::array<std::int64_t, 3> const stride{ny * nz, nz, 1}, n{nx, ny, nz};
      for (int axis = 0; axis < 3; ++axis) {
        for (int side = 0; side < 2; ++side) {
          bool const edge = at[axis] == (side == 0 ? 0 : n[axis] - 1);
          body(i, edge ? -1 : i + (side == 0 ? -1 : 1) * stride[axis], axis, side);
        }
      }
    }
  };
  for_faces([&](std::int64_t i, std::int64_t other, int axis, int side) {
    Face const& face = boundary.face(axis, side);
    if (k[i] == 0.0) return;
    if (other >= 0 && k[other] > 0.0) {
      double const c = 1.0 / (1.0 / half(i, axis) + 1.0 / half(other, axis));
      a[i][i] += c;
      a[i][other] -= c;
    } else if (other < 0 && face.kind == FaceKind::dirichlet) {
      a[i][i] += half(i, axis);
      b[i] += half(i, axis) * face.value;
      reached[i] = true;
    }
  });
  for (bool more = true; more;) {
    more = false;
    for_faces([&](std::int64_t i, std::int64_t other, int, int) {
      if (other < 0 || !reached[other] || reached[i] || k[i] == 0.0) return;
      reached[i] = more = true;
    });
  }
  for (std::int64_t i = 0; i < count; ++i) {
    if (reached[i]) continue;
    matrix[i].zero_();
    a[i][i] = 1.0;
    b[i] = std::numeric_limits<double>::quiet_NaN();
  }
  at::Tensor const missing = load.isnan();
  at::Tensor u = at::linalg_solve(matrix, load.nan_to_num(0.0));
  SevenPoint result{
      .u = at::where(missing, std::numeric_limits<double>::quiet_NaN(), u).view({nx, ny, nz})};
  for_faces([&](std::int64_t i, std::int64_t other, int axis, int side) {
    Face const& face = boundary.face(axis, side);
    if (other >= 0 || face.kind != FaceKind::dirichlet || !reached[i]) return;
    result.into[static_cast<std::size_t>(2 * axis + side)] +=
        half(i, axis) * (face.value - u[i].item<double>());
  });
  return result;
}

/// 1 where a voxel conducts, with about this share of them. @param like [nx, ny, nz]
inline at::Tensor random_pores(Grid3 const& grid, double share) {
  return (at::rand({grid.voxels[0], grid.voxels[1], grid.voxels[2]}, at::kDouble) < share)
      .to(at::kDouble);
}

}  // namespace voxcycle::testing
