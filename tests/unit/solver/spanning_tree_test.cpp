// SPDX-License-Identifier: BSD-3-Clause
#include "solver/spanning_tree.hpp"

#include "voxcycle/poisson/finite_volume.hpp"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace spanning_tree_test {

struct Network {
  Grid3 grid;
  Boundary boundary;
  at::Tensor conductances;  ///< [1, 3, nodes]
};

Network random_network(Boundary const& boundary, double spread) {
  Network n{{{4, 3, 5}, {1.0, 1.0, 1.0}}, boundary, {}};
  n.conductances = at::exp(spread * at::randn({1, 3, 5, 4, 6}, at::kDouble));
  for (int axis = 0; axis < 3; ++axis) n.conductances[0][axis].select(axis, -1).zero_();
  return n;
}

/// r^T L^-1 r by a dense matrix of the free nodes.
double exact(Network const& n, at::Tensor const& r) {
  std::int64_t const nodes = n.grid.node_count();
  at::Tensor const units = at::eye(nodes, at::kDouble);
  at::Tensor matrix = at::empty({nodes, nodes}, at::kDouble);
  for (std::int64_t i = 0; i < nodes; ++i) {
    matrix[i].copy_(apply_couplings(n.grid, n.conductances.neg(),
                                    units[i].reshape(n.grid.node_shape()).contiguous())
                        .flatten());
  }
  at::Tensor const mask =
      free_node_mask(n.grid, n.boundary, at::TensorOptions(at::kDouble)).flatten();
  at::Tensor const free = mask.nonzero().flatten();
  at::Tensor const inner = matrix.index_select(0, free).index_select(1, free);
  at::Tensor const b = r.flatten().index_select(0, free);
  return b.dot(at::linalg_solve(inner, b)).item<double>();
}

at::Tensor random_residual_of(Network const& n) {
  return at::randn(n.grid.node_shape(), at::kDouble) *
         free_node_mask(n.grid, n.boundary, at::TensorOptions(at::kDouble));
}

TEST(SpanningTree, BoundsTheEnergyOfAResidual) {
  at::manual_seed(1);
  for (auto const* const text : {"1, 0, flux, flux, flux, flux", "flux, flux, 2, flux, flux, 0",
                                 "flux, flux, flux, 1, flux, flux"}) {
    for (double const spread : {0.0, 2.0, 8.0}) {
      Network const n = random_network(parse_boundary(text), spread);
      SpanningTree const tree(n.grid, n.boundary, n.conductances);
      at::Tensor const r = random_residual_of(n);
      double const least = exact(n, r), bound = tree.bound(r);
      EXPECT_GE(bound, least * (1.0 - 1e-12));
      EXPECT_LE(bound, 50.0 * least);  // no more than a few ways' lengths
    }
  }
}

// A chain has one way only.
TEST(SpanningTree, IsExactWhereThereIsNoChoice) {
  Network n{{{6, 1, 1}, {1.0, 1.0, 1.0}}, parse_boundary("1, flux, flux, flux, flux, flux"), {}};
  n.conductances = at::zeros({1, 3, 7, 2, 2}, at::kDouble);
  for (int x = 0; x < 6; ++x) n.conductances[0][0][x].fill_(1.0 + x);
  at::manual_seed(2);
  at::Tensor const r = random_residual_of(n);
  SpanningTree const tree(n.grid, n.boundary, n.conductances);
  EXPECT_NEAR(tree.bound(r), exact(n, r), 1e-12 * exact(n, r));
}

TEST(SpanningTree, FlowsLeaveNothing) {
  at::manual_seed(3);
  Network const n = random_network(parse_boundary("1, 0, flux, flux, flux, flux"), 3.0);
  SpanningTree const tree(n.grid, n.boundary, n.conductances);
  at::Tensor const r = random_residual_of(n);
  at::Tensor flows = at::zeros_like(n.conductances);
  tree.add_flows(r, flows);
  at::Tensor left = r.clone();
  for (int axis = 0; axis < 3; ++axis) {
    std::int64_t const dim = 2 + axis, pairs = r.size(dim) - 1;
    at::Tensor const f = flows[0][axis].narrow(axis, 0, pairs);
    left.narrow(dim, 0, pairs).sub_(f);
    left.narrow(dim, 1, pairs).add_(f);
  }
  left.mul_(free_node_mask(n.grid, n.boundary, at::TensorOptions(at::kDouble)));
  EXPECT_LT(left.abs().max().item<double>(), 1e-12);
}

TEST(SpanningTree, ProvesNothingOfABodyWithASource) {
  Network n = random_network(parse_boundary("1, 0, flux, flux, flux, flux"), 0.0);
  for (int axis = 0; axis < 3; ++axis) {  // a node by itself
    n.conductances[0][axis][2][2][2] = 0.0;
  }
  n.conductances[0][0][1][2][2] = n.conductances[0][1][2][1][2] = n.conductances[0][2][2][2][1] =
      0.0;
  SpanningTree const tree(n.grid, n.boundary, n.conductances);
  at::Tensor r = at::zeros(n.grid.node_shape(), at::kDouble);
  r[0][0][1][1][1] = 1.0;
  EXPECT_TRUE(std::isfinite(tree.bound(r)));
  r[0][0][2][2][2] = 1.0;
  EXPECT_TRUE(std::isinf(tree.bound(r)));
}

}  // namespace spanning_tree_test
}  // namespace voxcycle
