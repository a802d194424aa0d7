// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/nested_equation.hpp"

#include "voxcycle/core/error.hpp"

#include <cmath>

#include "q1_elements.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace nested_equation_test {

using testing::dense_stiffness;

// Some thousand operations a node in float64, and nu of 1000.
constexpr double kRounding = 1e-9;

Grid3 const kBox{{4, 8, 4}, {1.0, 1.5, 0.8}};

/// A block of conductivity 1000 in a background of about one.
at::Tensor jumping_nu(std::int64_t batch) {
  at::manual_seed(7);
  auto const& n = kBox.voxels;
  at::Tensor nu = at::rand({batch, 1, n[0], n[1], n[2]}, at::kDouble).add_(0.5);
  nu.slice(2, 1, 3).slice(3, 3, 6).slice(4, 0, 2).mul_(1000.0);
  return nu;
}

at::Tensor random_field(Grid3 const& grid, std::int64_t batch) {
  return at::randn(grid.node_shape(batch), at::kDouble);
}

at::Tensor mask_of(Grid3 const& grid, Boundary const& boundary) {
  return free_node_mask(grid, boundary, at::kDouble);
}

/// K u - b on the free nodes of the box, sample by sample.
at::Tensor residual(at::Tensor const& u, at::Tensor const& nu, Boundary const& boundary,
                    at::Tensor const& b) {
  at::Tensor r = at::empty_like(u);
  for (std::int64_t k = 0; k < u.size(0); ++k) {
    r[k] = dense_stiffness(nu[k].flatten().contiguous(), kBox).mv(u[k].flatten()).view_as(u[k]);
  }
  return (r - b) * mask_of(kBox, boundary);
}

double largest(at::Tensor const& x) {
  return x.abs().max().item<double>();
}

class NestedFaces : public ::testing::TestWithParam<char const*> {
 protected:
  Boundary boundary = parse_boundary(GetParam());
  at::Tensor nu = jumping_nu(2), b = random_field(kBox, 2);
};

TEST(NestedEquation, RefusesCoefficientsOfAnotherShape) {
  at::Tensor const nu = jumping_nu(1);
  for (at::Tensor const& wrong : {nu.narrow(4, 0, 2), nu.transpose(2, 4), nu.squeeze(1)}) {
    EXPECT_THROW(NestedEquation(kBox, {}, wrong, {}, {.levels = 2}), Error);
  }
}

TEST_P(NestedFaces, OneGridIsSolvedDirectly) {
  NestedEquation const one(kBox, boundary, nu, b, {.levels = 1});
  at::Tensor const u = one.coarsest();
  EXPECT_LT(largest(residual(u, nu, boundary, b)), kRounding * largest(b));
  at::Tensor const fixed = (mask_of(kBox, boundary) == 0).expand_as(u);
  EXPECT_TRUE(at::equal(u.masked_select(fixed),
                        lift(kBox, boundary, at::kDouble).expand_as(u).masked_select(fixed)));
}

TEST_P(NestedFaces, CoarseSolutionIsTheBestOfItsSpace) {
  // Its residual is orthogonal to all that the coarse grid can add.
  NestedEquation const two(kBox, boundary, nu, b, {.levels = 2});
  at::Tensor const coarse = two.coarsest(), u = two.prolonged(0, coarse);
  at::Tensor const r = residual(u, nu, boundary, b);
  EXPECT_GT(largest(r), 0.1);
  at::Tensor const free = mask_of(kBox.coarsened(), boundary);
  at::Tensor const products = two.restricted(0, r) * free;
  EXPECT_LT(largest(products), kRounding * largest(r) * 1e3);
  EXPECT_LT(largest(two.smooth(1, coarse) - coarse), kRounding * largest(coarse));
}

TEST_P(NestedFaces, StepsBackAreTransposes) {
  NestedEquation const three(Grid3{{8, 8, 8}, {1.0, 1.5, 0.8}}, boundary,
                             at::upsample_nearest3d(nu, {8, 8, 8}), std::nullopt,
                             {.levels = 3, .steps = smoothing_steps(3)});
  Grid3 grid{{8, 8, 8}, {1.0, 1.5, 0.8}};
  for (int level = 0; level < 3; ++level, grid = level < 3 ? grid.coarsened() : grid) {
    SCOPED_TRACE(level);
    at::Tensor const free = mask_of(grid, boundary);
    at::Tensor const v = random_field(grid, 2) * free, w = random_field(grid, 2);
    at::Tensor const zero = at::zeros_like(v);
    auto const dot = [](at::Tensor const& x, at::Tensor const& y) {
      return (x * y).sum().item<double>();
    };
    double const smooth = dot(w * free, three.smooth(level, v) - three.smooth(level, zero));
    EXPECT_NEAR(dot(three.transposed(level, w), v), smooth, kRounding * 100.0);
    EXPECT_EQ(largest(three.transposed(level, w) * (1.0 - free)), 0.0);
    if (level == 2) break;
    Grid3 const coarse = grid.coarsened();
    at::Tensor const e = random_field(coarse, 2) * mask_of(coarse, boundary);
    at::Tensor const raised = three.prolonged(level, e) - three.prolonged(level, at::zeros_like(e));
    EXPECT_NEAR(dot(three.restricted(level, w * free), e), dot(w * free, raised),
                kRounding * 100.0);
    EXPECT_GT(std::abs(dot(w * free, raised)), 1e-3);
  }
}

INSTANTIATE_TEST_SUITE_P(Faces, NestedFaces,
                         ::testing::Values("1, 0, flux, flux, flux, flux",
                                           "flux, flux, 2, flux, flux, flux",
                                           "0.5, 0.5, 0.5, 0.5, 0.5, flux"));

TEST(NestedEquation, WithoutDirichletNodesTheSolutionIsOneOfMany) {
  Boundary const flux = parse_boundary("flux, flux, flux, flux, flux, flux");
  at::Tensor const nu = jumping_nu(1);
  at::Tensor b = random_field(kBox, 1);
  b.sub_(b.mean());
  NestedEquation const one(kBox, flux, nu, b, {.levels = 1});
  EXPECT_LT(largest(residual(one.coarsest(), nu, flux, b)), kRounding * largest(b));
}

TEST(NestedEquation, RaisedSolutionsHaveTheExactDirichletValues) {
  // Where faces meet, interpolation along one blurs the other's values.
  Boundary const boundary = parse_boundary("1, flux, 0.5, flux, -2, 3");
  NestedEquation const two(kBox, boundary, jumping_nu(1), std::nullopt, {.levels = 2});
  at::Tensor const u = two.prolonged(0, two.coarsest());
  at::Tensor const fixed = mask_of(kBox, boundary) == 0;
  EXPECT_TRUE(
      at::equal(u.masked_select(fixed), lift(kBox, boundary, at::kDouble).masked_select(fixed)));
}

TEST(NestedEquation, SinglePrecisionIsClose) {
  Boundary const boundary;
  at::Tensor const nu = jumping_nu(1);
  NestedEquation const wide(kBox, boundary, nu, std::nullopt, {});
  NestedEquation const narrow(kBox, boundary, nu.to(at::kFloat), std::nullopt, {});
  at::Tensor const want = wide.smooth(0, wide.prolonged(0, wide.coarsest()));
  at::Tensor const found = narrow.smooth(0, narrow.prolonged(0, narrow.coarsest()));
  EXPECT_EQ(found.scalar_type(), at::kFloat);
  EXPECT_LT(largest(found - want), 1e-4);
}

TEST(NestedEquation, RefusesWhatItCannotHalveOrSmooth) {
  at::Tensor const nu = jumping_nu(1);
  EXPECT_THROW(NestedEquation(kBox, Boundary{}, nu, std::nullopt, {.levels = 4}), Error);
  EXPECT_THROW(NestedEquation(kBox, Boundary{}, nu, std::nullopt, {.levels = 0}), Error);
  EXPECT_THROW(NestedEquation(kBox, Boundary{}, nu, std::nullopt, {.steps = {}}), Error);
  Grid3 const large = Grid3::cube(12);
  EXPECT_THROW(NestedEquation(large, Boundary{}, at::ones({1, 1, 12, 12, 12}, at::kDouble),
                              std::nullopt, {.levels = 1}),
               Error);
}

}  // namespace nested_equation_test
}  // namespace voxcycle
