// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/conducting_part.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace conducting_part_test {

// A way a, a body b that touches the lower x face, c and d that touch none. b and c share an edge,
// and c and d do.
//
//     y 3   b b . d .
//     y 2   . . c . .
//     y 1   . . . . .
//     y 0   a a a a a
at::Tensor plane() {
  at::Tensor nu = at::zeros({5, 5, 1}, at::kDouble);
  for (int x = 0; x < 5; ++x) nu[x][0][0] = 2.0;  // a
  nu[0][3][0] = nu[1][3][0] = 1.0;                // b
  nu[2][2][0] = 4.0;                              // c
  nu[3][3][0] = 5.0;                              // d
  return nu;
}

Grid3 const grid{{5, 5, 1}, {5.0, 5.0, 1.0}};
Boundary const along_x;

TEST(ConductingPart, DropsWhatTouchesNoDirichletFaceThroughFaces) {
  auto const part = conducting_part(grid, along_x, Scheme::finite_volume, plane());
  EXPECT_EQ(part.empty_voxels, 25 - 9);
  EXPECT_EQ(part.dropped_voxels, 2);
  EXPECT_EQ(part.dropped_bodies, 2);
  at::Tensor expected = plane();
  expected[2][2][0] = expected[3][3][0] = 0.0;
  EXPECT_TRUE(at::equal(part.nu, expected));
}

// b and c share a node, so do c and d.
TEST(ConductingPart, OfTrilinearElementsIsConnectedByNodes) {
  auto const part = conducting_part(grid, along_x, Scheme::q1, plane());
  EXPECT_EQ(part.dropped_bodies, 0);
  EXPECT_TRUE(at::equal(part.nu, plane()));
  at::Tensor without_b = plane();
  without_b[0][3][0] = without_b[1][3][0] = 0.0;
  auto const rest = conducting_part(grid, along_x, Scheme::q1, without_b);
  EXPECT_EQ(rest.dropped_bodies, 1);
  EXPECT_EQ(rest.dropped_voxels, 2);
}

TEST(ConductingPart, KeepsTheLargestBodyWithoutADirichletFace) {
  Boundary const closed = parse_boundary("flux, flux, flux, flux, flux, flux");
  auto const part = conducting_part(grid, closed, Scheme::finite_volume, plane());
  EXPECT_EQ(part.dropped_bodies, 3);
  EXPECT_EQ(part.dropped_voxels, 4);
  EXPECT_EQ(part.nu[3][0][0].item<double>(), 2.0);
}

TEST(ConductingPart, LeavesPositiveFieldsAlone) {
  at::Tensor const nu = at::ones({5, 5, 1}, at::kDouble);
  EXPECT_TRUE(conducting_part(grid, along_x, Scheme::q1, nu).nu.is_same(nu));
  EXPECT_TRUE(spanning_part(grid, 1, nu).nu.is_same(nu));
}

TEST(ConductingPart, SpansFromFaceToFace) {
  auto const along = spanning_part(grid, 0, plane());
  EXPECT_EQ(along.empty_voxels, 25 - 9);
  EXPECT_EQ(along.dropped_voxels, 4);
  EXPECT_EQ(along.dropped_bodies, 3);
  EXPECT_EQ(along.nu.sum().item<double>(), 10.0);
  EXPECT_EQ(spanning_part(grid, 1, plane()).nu.sum().item<double>(), 0.0);
  EXPECT_EQ(spanning_part(grid, 2, plane()).nu.sum().item<double>(), plane().sum().item<double>());
}

}  // namespace conducting_part_test
}  // namespace voxcycle
