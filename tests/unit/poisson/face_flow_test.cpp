// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/face_flow.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"

#include <array>
#include <cmath>

#include "q1_elements.hpp"
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace face_flow_test {

using testing::dense_load;
using testing::dense_stiffness;
using testing::random_nodes;
using testing::random_voxels;

// Sums of a few hundred terms of size 1 in float64.
constexpr double rounding = 1e-12;

TEST(FaceFlow, OfALinearFieldIsConductivityTimesSlopeTimesArea) {
  Grid3 const grid{{4, 3, 5}, {2.0, 1.0, 3.0}};
  Boundary const boundary = parse_boundary("1, 0, flux, flux, flux, flux");
  at::Tensor const nu = at::full({1, 1, 4, 3, 5}, 5.0, at::kDouble);
  auto const flows = face_flows(lift(grid, boundary, at::kDouble), nu, grid, boundary);
  double const expected = 5.0 * (1.0 / 2.0) * (1.0 * 3.0);
  EXPECT_NEAR(flows.into[0], expected, rounding);
  EXPECT_NEAR(flows.into[1], -expected, rounding);
  for (int face = 2; face < 6; ++face) EXPECT_EQ(flows.into[face], 0.0);
  EXPECT_EQ(flows.source, 0.0);
}

// The reactions of the dense matrix, each at the first Dirichlet face that its node lies on.
TEST(FaceFlow, SumsReactionsOfTheDenseSystemOnceANode) {
  at::manual_seed(3);
  Grid3 const grid{{3, 4, 2}, {1.0, 0.7, 1.3}};
  for (char const* faces : {"1, 0, flux, flux, flux, flux", "flux, 2, -1, flux, flux, 0.5",
                            "1, 2, 3, 4, 5, 6", "flux, flux, flux, 1, 2, flux"}) {
    Boundary const boundary = parse_boundary(faces);
    at::Tensor const nu = random_voxels(grid, 1), u = random_nodes(grid, 1);
    at::Tensor const f = random_voxels(grid, 1);
    at::Tensor const load = dense_load(f, grid);
    at::Tensor const reaction = dense_stiffness(nu, grid).mv(u.flatten()) - load;
    std::array<double, 6> expected{};
    std::int64_t node = 0;
    double elsewhere = 0.0;
    for (std::int64_t x = 0; x <= 3; ++x) {
      for (std::int64_t y = 0; y <= 4; ++y) {
        for (std::int64_t z = 0; z <= 2; ++z, ++node) {
          bool const on[6] = {x == 0, x == 3, y == 0, y == 4, z == 0, z == 2};
          int face = 0;
          while (face < 6 && !(on[face] && boundary.faces[face].kind == FaceKind::dirichlet)) {
            ++face;
          }
          double const value = reaction[node].item<double>();
          (face < 6 ? expected[face] : elsewhere) += value;
        }
      }
    }
    auto const flows = face_flows(u, nu, grid, boundary, load_of_source(f, grid));
    for (int face = 0; face < 6; ++face) {
      EXPECT_NEAR(flows.into[face], expected[face], rounding) << faces << " face " << face;
    }
    EXPECT_NEAR(flows.source, load.sum().item<double>(), rounding);
    // Rows of K sum to zero: what is out of balance is what free nodes have left.
    EXPECT_NEAR(flows.imbalance(), -elsewhere, rounding) << faces;
  }
}

TEST(FaceFlow, TakesOneSampleInFloat64) {
  Grid3 const grid = Grid3::cube(2);
  at::Tensor const u = at::zeros({1, 1, 3, 3, 3}), nu = at::ones({1, 1, 2, 2, 2});
  EXPECT_THROW(face_flows(u, nu, grid, {}), Error);
  EXPECT_THROW(face_flows(at::zeros({2, 1, 3, 3, 3}, at::kDouble),
                          at::ones({2, 1, 2, 2, 2}, at::kDouble), grid, {}),
               Error);
}

}  // namespace face_flow_test
}  // namespace voxcycle
