// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include <array>
#include <cmath>
#include <cstdint>

#include <ATen/ATen.h>

namespace voxcycle::testing {

/// Trilinear shape functions of one voxel by Gauss quadrature (two points an axis: exact for the
/// products that occur), written from the definition and sharing nothing with the kernel.
struct Q1Element {
  double stiffness[8][8] = {};  ///< integral of grad phi_i . grad phi_j
  double load[8] = {};          ///< integral of phi_i

  explicit Q1Element(Grid3 const& grid) {
    double const h[3] = {grid.spacing(0), grid.spacing(1), grid.spacing(2)};
    double const points[2] = {0.5 - 0.5 / std::sqrt(3.0), 0.5 + 0.5 / std::sqrt(3.0)};
    double const weight = h[0] * h[1] * h[2] / 8.0;
    for (int q = 0; q < 8; ++q) {
      double const at[3] = {points[q >> 2 & 1], points[q >> 1 & 1], points[q & 1]};
      std::array<std::array<double, 3>, 8> gradients{};
      for (int i = 0; i < 8; ++i) {
        double value[3], gradient[3];
        for (int axis = 0; axis < 3; ++axis) {
          bool const high = i >> (2 - axis) & 1;
          value[axis] = high ? at[axis] : 1.0 - at[axis];
          gradient[axis] = (high ? 1.0 : -1.0) / h[axis];
        }
        gradients[i] = {gradient[0] * value[1] * value[2], value[0] * gradient[1] * value[2],
                        value[0] * value[1] * gradient[2]};
        load[i] += weight * value[0] * value[1] * value[2];
      }
      for (int i = 0; i < 8; ++i) {
        for (int j = 0; j < 8; ++j) {
          for (int axis = 0; axis < 3; ++axis) {
            stiffness[i][j] += weight * gradients[i][axis] * gradients[j][axis];
          }
        }
      }
    }
  }
};

/// The eight nodes of each voxel: calls body(voxel, nodes).
template <class Body>
void for_each_voxel(Grid3 const& grid, Body const& body) {
  auto const [nx, ny, nz] = grid.voxels;
  std::int64_t voxel = 0;
  for (std::int64_t x = 0; x < nx; ++x) {
    for (std::int64_t y = 0; y < ny; ++y) {
      for (std::int64_t z = 0; z < nz; ++z, ++voxel) {
        std::array<std::int64_t, 8> nodes{};
        for (int i = 0; i < 8; ++i) {
          nodes[i] = ((x + (i >> 2 & 1)) * (ny + 1) + y + (i >> 1 & 1)) * (nz + 1) + z + (i & 1);
        }
        body(voxel, nodes);
      }
    }
  }
}

/// K(nu) of one sample as a dense matrix [nodes, nodes]; nu in float64.
inline at::Tensor dense_stiffness(at::Tensor const& nu, Grid3 const& grid) {
  Q1Element const element(grid);
  at::Tensor matrix = at::zeros({grid.node_count(), grid.node_count()}, at::kDouble);
  auto entries = matrix.accessor<double, 2>();
  auto const* const values = nu.const_data_ptr<double>();
  for_each_voxel(grid, [&](std::int64_t voxel, std::array<std::int64_t, 8> const& nodes) {
    for (int i = 0; i < 8; ++i) {
      for (int j = 0; j < 8; ++j) {
        entries[nodes[i]][nodes[j]] += values[voxel] * element.stiffness[i][j];
      }
    }
  });
  return matrix;
}

/// Load of a source that is constant on each voxel, for one sample: [nodes], in float64.
inline at::Tensor dense_load(at::Tensor const& f, Grid3 const& grid) {
  Q1Element const element(grid);
  at::Tensor load = at::zeros({grid.node_count()}, at::kDouble);
  auto* const out = load.mutable_data_ptr<double>();
  auto const* const values = f.const_data_ptr<double>();
  for_each_voxel(grid, [&](std::int64_t voxel, std::array<std::int64_t, 8> const& nodes) {
    for (int i = 0; i < 8; ++i) out[nodes[i]] += values[voxel] * element.load[i];
  });
  return load;
}

/// K(nu) u of one sample, voxel by voxel, in float64.
inline at::Tensor naive_stiffness(at::Tensor const& u, at::Tensor const& nu, Grid3 const& grid) {
  Q1Element const element(grid);
  at::Tensor result = at::zeros_like(u);
  auto* const out = result.mutable_data_ptr<double>();
  auto const* const in = u.const_data_ptr<double>();
  auto const* const values = nu.const_data_ptr<double>();
  for_each_voxel(grid, [&](std::int64_t voxel, std::array<std::int64_t, 8> const& nodes) {
    for (int i = 0; i < 8; ++i) {
      for (int j = 0; j < 8; ++j) {
        out[nodes[i]] += values[voxel] * element.stiffness[i][j] * in[nodes[j]];
      }
    }
  });
  return result;
}

/// Random fields of a grid: nu in [0.1, 2.1), u and b in [-1, 1).
inline at::Tensor random_voxels(Grid3 const& grid, std::int64_t batch,
                                at::ScalarType dtype = at::kDouble) {
  return at::rand(grid.voxel_shape(batch), dtype).mul_(2.0).add_(0.1);
}

inline at::Tensor random_nodes(Grid3 const& grid, std::int64_t batch,
                               at::ScalarType dtype = at::kDouble) {
  return at::rand(grid.node_shape(batch), dtype).mul_(2.0).sub_(1.0);
}

/// max |a - b| / max |b|.
inline double relative_difference(at::Tensor const& a, at::Tensor const& b) {
  double const scale = b.to(at::kDouble).abs().max().item<double>();
  return (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>() / scale;
}

/// The literature's benchmark coefficient on the unit cube, at voxel centres: four modes,
/// omega = (0.3105, 1.5386, 0.0932, -1.2442), rounded to float32 as the checked figures were.
inline at::Tensor kl_sample(std::int64_t n) {
  constexpr float omega[4] = {0.3105F, 1.5386F, 0.0932F, -1.2442F};
  constexpr double a[4] = {1.720667178038759, 4.057515676220868, 6.851236918963457,
                           9.826360878869767};
  at::Tensor log_nu = at::zeros({n, n, n}, at::kDouble);
  at::Tensor const s = (at::arange(n, at::kDouble) + 0.5) / static_cast<double>(n);
  for (int i = 0; i < 4; ++i) {
    at::Tensor const eta = (s * a[i]).cos() * (a[i] / 2.0) + (s * a[i]).sin();
    double const lambda = 1.0 / (1.0 + 0.25 * a[i] * a[i]);
    log_nu += static_cast<double>(omega[i]) * std::pow(lambda, 1.5) * eta.view({n, 1, 1}) *
              eta.view({1, n, 1}) * eta;
  }
  return log_nu.exp().view({1, 1, n, n, n});
}

/// Bit f of `bits` makes face f a Dirichlet face.
inline Boundary boundary_of(int bits) {
  Boundary boundary;
  for (int face = 0; face < 6; ++face) {
    boundary.faces[face] = bits >> face & 1 ? Face{FaceKind::dirichlet, 0.0} : Face{};
  }
  return boundary;
}

}  // namespace voxcycle::testing
