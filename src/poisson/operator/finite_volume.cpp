// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/finite_volume.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>

#include "poisson/operator/level_operator.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

bool is_dirichlet(Boundary const& boundary, int axis, int side) {
  return boundary.face(axis, side).kind == FaceKind::dirichlet;
}

/// `planes` of a field from `from` on along an axis, those of the centres along the others.
at::Tensor lines(at::Tensor field, FiniteVolumePoints const& points, int axis, std::int64_t from,
                 std::int64_t planes) {
  for (int a = 0; a < 3; ++a) {
    std::int64_t const dim = field.dim() - 3 + a;
    field = a == axis ? field.narrow(dim, from, planes)
                      : field.narrow(dim, points.first[a], points.count[a]);
  }
  return field;
}

/// A plane of voxels, the first and last ones repeated to all points along the other axes. A point
/// beyond one voxel between two faces of zero flux is a dead end of the point before it, along the
/// last axis that is so.
at::Tensor beyond(at::Tensor plane, FiniteVolumePoints const& points, int axis) {
  for (int a = 0; a < 3; ++a) {
    if (a == axis) continue;
    at::Tensor const places = at::arange(points.grid.nodes(a), at::device(plane.device()))
                                  .to(at::kLong)
                                  .sub_(points.first[a])
                                  .clamp_(0, points.count[a] - 1);
    plane = plane.index_select(1 + a, places);
  }
  return plane;
}

/// Views of fields at points and at the next ones along an axis, and the entries between them.
struct Neighbours {
  struct View {
    int dim;
    std::int64_t from, count;
    at::Tensor operator()(at::Tensor const& field) const { return field.narrow(dim, from, count); }
  };
  View low, high;
  at::Tensor between;
};

Neighbours neighbours(Grid3 const& points, at::Tensor const& couplings, int axis) {
  std::int64_t const pairs = points.voxels[axis];
  return {{2 + axis, 0, pairs},
          {2 + axis, 1, pairs},
          couplings.narrow(1, axis, 1).narrow(2 + axis, 0, pairs)};
}

/// 2ab/(a + b), 0 where both are 0.
at::Tensor harmonic_mean(at::Tensor const& a, at::Tensor const& b) {
  at::Tensor const sum = a + b;
  return at::where(sum > 0.0, 2.0 * a * (b / sum), 0.0);
}

}  // namespace

FiniteVolumePoints::FiniteVolumePoints(Grid3 const& voxels, Boundary const& boundary)
    : count(voxels.voxels) {
  require_valid(voxels);
  for (int axis = 0; axis < 3; ++axis) {
    first[axis] = is_dirichlet(boundary, axis, 0) ? 1 : 0;
    std::int64_t const last = first[axis] + count[axis] - (is_dirichlet(boundary, axis, 1) ? 0 : 1);
    grid.voxels[axis] = std::max<std::int64_t>(last, 1);
    grid.lengths[axis] = voxels.spacing(axis) * static_cast<double>(grid.voxels[axis]);
  }
}

at::Tensor FiniteVolumePoints::centres(at::Tensor const& field) const {
  return lines(field, *this, 0, first[0], count[0]);
}

at::Tensor finite_volume_couplings(Grid3 const& voxels, Boundary const& boundary,
                                   at::Tensor const& nu) {
  at::IntArrayRef const expected(voxels.voxels.data(), 3);
  VOXCYCLE_REQUIRE(nu.dim() == 5 && nu.size(1) == 1 && nu.sizes().slice(2) == expected,
                   "nu has shape " << nu.sizes() << ", expected [B, 1, " << voxels.name() << "].");
  FiniteVolumePoints const points(voxels, boundary);
  Grid3 const& grid = points.grid;
  double const volume = voxels.spacing(0) * voxels.spacing(1) * voxels.spacing(2);
  at::Tensor const values = nu.select(1, 0);
  at::Tensor couplings =
      at::zeros({nu.size(0), 3, grid.nodes(0), grid.nodes(1), grid.nodes(2)}, nu.options());
  for (int axis = 0; axis < 3; ++axis) {
    double const per_nu = -volume / (voxels.spacing(axis) * voxels.spacing(axis));
    at::Tensor const of_axis = couplings.select(1, axis);
    std::int64_t const first = points.first[axis], n = points.count[axis], dim = 1 + axis;
    auto const set = [&](std::int64_t from, std::int64_t planes, at::Tensor const& mean,
                         double factor) {
      lines(of_axis, points, axis, from, planes).copy_(mean * (factor * per_nu));
    };
    at::Tensor const low = values.narrow(dim, 0, 1), high = values.narrow(dim, n - 1, 1);
    if (n > 1) {
      set(first, n - 1, harmonic_mean(values.narrow(dim, 0, n - 1), values.narrow(dim, 1, n - 1)),
          1.0);
    }
    if (is_dirichlet(boundary, axis, 0)) set(0, 1, low, 2.0);
    if (is_dirichlet(boundary, axis, 1)) {
      set(first + n - 1, 1, high, 2.0);
    } else if (first + n == 1) {  // of one voxel
      of_axis.narrow(dim, 0, 1).copy_(beyond(high, points, axis) * per_nu);
    }
  }
  return couplings;
}

at::Tensor apply_couplings(Grid3 const& points, at::Tensor const& couplings, at::Tensor const& u) {
  if (!u.is_cuda()) return make_coupling_operator(points, couplings)->apply(u);
  at::Tensor out = at::zeros_like(u);
  for (int axis = 0; axis < 3; ++axis) {
    auto const [low, high, between] = neighbours(points, couplings, axis);
    at::Tensor const flow = low(u).sub(high(u)).mul_(between);
    low(out).sub_(flow);
    high(out).add_(flow);
  }
  return out;
}

at::Tensor coupling_diagonal(Grid3 const& points, at::Tensor const& couplings) {
  at::Tensor out = at::zeros(points.node_shape(couplings.size(0)), couplings.options());
  for (int axis = 0; axis < 3; ++axis) {
    auto const [low, high, between] = neighbours(points, couplings, axis);
    low(out).sub_(between);
    high(out).sub_(between);
  }
  return out;
}

at::Tensor finite_volume_load(Grid3 const& voxels, Boundary const& boundary, at::Tensor const& f) {
  FiniteVolumePoints const points(voxels, boundary);
  double const volume = voxels.spacing(0) * voxels.spacing(1) * voxels.spacing(2);
  at::Tensor load = at::zeros(points.grid.node_shape(), f.options().dtype(at::kDouble));
  points.centres(load).copy_(f * volume);
  return load;
}

FaceFlows finite_volume_flows(Grid3 const& voxels, Boundary const& boundary,
                              at::Tensor const& couplings, at::Tensor const& u,
                              std::optional<at::Tensor> const& b) {
  FiniteVolumePoints const points(voxels, boundary);
  FaceFlows flows;
  for (int axis = 0; axis < 3; ++axis) {
    for (int side = 0; side < 2; ++side) {
      if (!is_dirichlet(boundary, axis, side)) continue;
      std::int64_t const last = points.grid.voxels[axis];
      std::int64_t const face = side == 0 ? 0 : last, inside = side == 0 ? 1 : last - 1;
      at::Tensor const difference =
          u.select(2 + axis, face).sub(u.select(2 + axis, inside)).squeeze(1);
      at::Tensor const conductances =
          couplings.select(1, axis).select(1 + axis, std::min(face, inside)).neg();
      flows.into[static_cast<std::size_t>(2 * axis + side)] =
          (difference * conductances).sum().item<double>();
    }
  }
  if (b) flows.source = b->sum().item<double>();
  return flows;
}

}  // namespace voxcycle
