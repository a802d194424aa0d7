// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/smoother.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/boundary.hpp"
#include "voxcycle/poisson/energy.hpp"

#include <cmath>

#include "q1_elements.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace smoother_test {

using testing::boundary_of;
using testing::dense_load;
using testing::dense_stiffness;
using testing::random_nodes;
using testing::random_voxels;
using testing::relative_difference;

// A few hundred operations a node in float64.
constexpr double rounding = 1e-12;

Grid3 const box{{3, 2, 4}, {1.0, 0.7, 1.5}};

/// Chebyshev polynomial of the first kind in its closed form.
double chebyshev(int degree, double t) {
  double const a = std::abs(t);
  double const value =
      a <= 1.0 ? std::cos(degree * std::acos(a)) : std::cosh(degree * std::acosh(a));
  return t < 0.0 && degree % 2 == 1 ? -value : value;
}

/// Small for t in (bottom, 1); q(0) = 1.
double polynomial(int steps, double bottom, double t) {
  double const centre = (1.0 + bottom) / 2.0, radius = (1.0 - bottom) / 2.0;
  return chebyshev(steps, (centre - t) / radius) / chebyshev(steps, centre / radius);
}

Smoother smoother_of(Boundary const& boundary, at::Tensor const& nu, int steps) {
  return {box, free_node_mask(box, boundary, nu.scalar_type()), nu, smoothing_steps(steps)};
}

/// Free nodes of a sample, as indices.
at::Tensor free_nodes(Grid3 const& grid, Boundary const& boundary) {
  return free_node_mask(grid, boundary, at::kDouble).flatten().nonzero().flatten();
}

// The largest eigenvalue of D^-1 K for one voxel of the box, by a dense eigenvalue solver.
double voxel_top(Grid3 const& grid) {
  Grid3 one = grid;
  for (int axis = 0; axis < 3; ++axis) {
    one.lengths[axis] /= static_cast<double>(grid.voxels[axis]);
    one.voxels[axis] = 1;
  }
  at::Tensor const k = dense_stiffness(at::ones({1}, at::kDouble), one);
  return at::linalg_eigvalsh(k / k[0][0]).max().item<double>();
}

class SmootherSteps : public ::testing::TestWithParam<int> {};

TEST_P(SmootherSteps, DampsEveryEigenvectorByTheChebyshevPolynomial) {
  Boundary const boundary = boundary_of(0b000011);
  at::Tensor const nu = random_voxels(box, 1).square_();
  at::Tensor const nodes = free_nodes(box, boundary);
  at::Tensor const k = dense_stiffness(nu, box).index_select(0, nodes).index_select(1, nodes);
  at::Tensor const root = k.diagonal().sqrt();
  auto const [values, vectors] = at::linalg_eigh(k / root.unsqueeze(0) / root.unsqueeze(1));
  int const steps = GetParam();
  double const top = voxel_top(box), bottom = steps == 8 ? std::sqrt(1.0 / 128.0) : 0.25;
  for (std::int64_t i = 0; i < nodes.size(0); ++i) {
    at::Tensor u = at::zeros({box.node_count()}, at::kDouble);
    u.index_copy_(0, nodes, vectors.select(1, i) / root);
    at::Tensor const e = u.view(box.node_shape());
    double const t = values[i].item<double>() / top;
    double const q = polynomial(steps, bottom, t);
    at::Tensor const smoothed = smoother_of(boundary, nu, steps).smooth(e);
    EXPECT_LT((smoothed - q * e).abs().max().item<double>(),
              rounding * e.abs().max().item<double>())
        << "eigenvalue " << t;
  }
}

TEST_P(SmootherSteps, TransposedIsTheTranspose) {
  Boundary const boundary = boundary_of(0b010110);
  at::Tensor const mask = free_node_mask(box, boundary, at::kDouble);
  at::Tensor const nu = random_voxels(box, 2);
  Smoother const smoother = smoother_of(boundary, nu, GetParam());
  at::Tensor const v = random_nodes(box, 2) * mask, w = random_nodes(box, 2);
  double const forward = (w * mask * smoother.smooth(v)).sum().item<double>();
  at::Tensor const back = smoother.transposed(w);
  EXPECT_NEAR((back * v).sum().item<double>(), forward, rounding * 100.0);
  EXPECT_EQ((back * (1.0 - mask)).abs().max().item<double>(), 0.0);
}

TEST_P(SmootherSteps, LeavesTheSolutionAndTheBoundaryAlone) {
  Boundary const boundary = parse_boundary("1, flux, 0.5, flux, flux, -2");
  at::Tensor const nu = random_voxels(box, 1), f = random_voxels(box, 1);
  at::Tensor const nodes = free_nodes(box, boundary);
  at::Tensor const k = dense_stiffness(nu, box), b = dense_load(f, box);
  at::Tensor const start = lift(box, boundary, at::kDouble);
  at::Tensor const r = (b - at::mv(k, start.flatten())).index_select(0, nodes);
  at::Tensor const correction =
      at::linalg_solve(k.index_select(0, nodes).index_select(1, nodes), r);
  at::Tensor const u = start.flatten().index_add(0, nodes, correction).view_as(start);
  at::Tensor const load = b.view_as(start);
  Smoother const smoother = smoother_of(boundary, nu, GetParam());
  EXPECT_LT(relative_difference(smoother.smooth(u, load), u), 100.0 * rounding);

  at::Tensor const mask = free_node_mask(box, boundary, at::kDouble);
  at::Tensor const rough = u + random_nodes(box, 1);
  at::Tensor const smoothed = smoother.smooth(rough, load);
  EXPECT_TRUE(at::equal(smoothed * (1.0 - mask), rough * (1.0 - mask)));
  EXPECT_LT(energy_and_gradient(smoothed, nu, box, load).energy.item<double>(),
            energy_and_gradient(smoothed * (1.0 - mask) + rough * mask, nu, box, load)
                .energy.item<double>());
}

INSTANTIATE_TEST_SUITE_P(Smoother, SmootherSteps, ::testing::Values(1, 2, 4, 8));

TEST(Smoother, NeedsAStep) {
  EXPECT_THROW(smoother_of(Boundary{}, random_voxels(box, 1), 0), Error);
}

}  // namespace smoother_test
}  // namespace voxcycle
