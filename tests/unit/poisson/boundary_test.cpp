// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/boundary.hpp"

#include "voxcycle/core/error.hpp"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace boundary_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A blend of two values with weights that are quotients.
constexpr double rounding = 1e-15;

double at_node(at::Tensor const& field, int x, int y, int z) {
  return field[0][0][x][y][z].item<double>();
}

TEST(Boundary, DefaultReadsAsInTheReadme) {
  EXPECT_EQ(to_string(Boundary{}), "1, 0, flux, flux, flux, flux");
  EXPECT_EQ(parse_boundary("1, 0, flux, flux, flux, flux"), Boundary{});
}

TEST(Boundary, TextAndBack) {
  for (char const* text : {"flux, flux, flux, flux, flux, flux", "0.1, -2.5e-07, flux, 3, flux, 1",
                           "1, 2, 3, 4, 5, 1e+300"}) {
    EXPECT_EQ(to_string(parse_boundary(text)), text);
  }
  EXPECT_EQ(to_string(parse_boundary(" 1,0 ,flux,flux , flux,flux")), to_string(Boundary{}));
}

TEST(Boundary, ErrorsNameTheEntry) {
  auto message = [](char const* text) -> std::string {
    try {
      parse_boundary(text);
    } catch (Error const& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(message("1, 0, flux, flx, flux, flux"), HasSubstr("\"flx\" for face y+"));
  EXPECT_THAT(message("1, 0x, flux, flux, flux, flux"), HasSubstr("\"0x\" for face x+"));
  EXPECT_THAT(message("nan, 0, flux, flux, flux, flux"), HasSubstr("\"nan\" for face x-"));
  EXPECT_THAT(message("1, 0, flux, periodic, flux, flux"),
              AllOf(HasSubstr("\"periodic\" for face y+"), HasSubstr("conductivity --periodic.")));
  EXPECT_THAT(message("1, 0, flux"), HasSubstr("3 entries"));
  EXPECT_THAT(message("1, 0, flux, flux, flux, flux, flux"), HasSubstr("7 entries"));
}

TEST(Boundary, DatumIsTheLeastValue) {
  EXPECT_EQ(datum_of(Boundary{}), 0.0);
  EXPECT_EQ(datum_of(parse_boundary("300, flux, 293.15, flux, flux, 301")), 293.15);
  EXPECT_EQ(datum_of(parse_boundary("-3, 2, flux, flux, flux, flux")), 2.0);
  EXPECT_EQ(datum_of(parse_boundary("flux, flux, flux, flux, flux, flux")), 0.0);
  EXPECT_EQ(to_string(from_datum(parse_boundary("-3, 2, flux, flux, flux, 4"))),
            "-5, 0, flux, flux, flux, 2");
}

TEST(Boundary, MaskIsZeroOnDirichletFacesOnly) {
  Grid3 const grid{{3, 4, 5}, {1.0, 1.0, 1.0}};
  at::Tensor const mask =
      free_node_mask(grid, parse_boundary("1, flux, flux, 2, 3, 4"), at::kFloat);
  EXPECT_EQ(mask.sizes(), at::IntArrayRef({1, 1, 4, 5, 6}));
  EXPECT_EQ(mask.scalar_type(), at::kFloat);
  for (int x = 0; x < 4; ++x) {
    for (int y = 0; y < 5; ++y) {
      for (int z = 0; z < 6; ++z) {
        bool const fixed = x == 0 || y == 4 || z == 0 || z == 5;
        EXPECT_EQ(at_node(mask, x, y, z), fixed ? 0.0 : 1.0);
      }
    }
  }
}

TEST(Lift, IsOneMinusXByDefault) {
  at::Tensor const field = lift(Grid3::cube(8), Boundary{}, at::kDouble);
  for (int x = 0; x <= 8; ++x) {
    EXPECT_NEAR(at_node(field, x, 3, 5), 1.0 - x / 8.0, rounding);
  }
  EXPECT_EQ(at_node(field, 0, 8, 0), 1.0);
  EXPECT_EQ(at_node(field, 8, 0, 8), 0.0);
  EXPECT_EQ(lift(Grid3::cube(2), Boundary{}, at::kFloat).scalar_type(), at::kFloat);
}

TEST(Lift, XWinsOnSharedEdgesThenY) {
  Grid3 const grid = Grid3::cube(4);
  at::Tensor const field = lift(grid, parse_boundary("1, 2, 3, 4, 5, 6"), at::kDouble);
  EXPECT_EQ(at_node(field, 0, 0, 0), 1.0);
  EXPECT_EQ(at_node(field, 4, 4, 4), 2.0);
  EXPECT_EQ(at_node(field, 2, 0, 4), 3.0);
  EXPECT_EQ(at_node(field, 2, 4, 0), 4.0);
  EXPECT_EQ(at_node(field, 2, 2, 0), 5.0);
  EXPECT_EQ(at_node(field, 2, 2, 4), 6.0);
  EXPECT_NEAR(at_node(field, 2, 2, 2), 3.5, 4 * rounding);  // the centre is equally far from all
}

TEST(Lift, WeighsByDistanceInTheBox) {
  Grid3 const grid{{4, 4, 4}, {2.0, 1.0, 1.0}};
  at::Tensor const field = lift(grid, parse_boundary("1, flux, 0, flux, flux, flux"), at::kDouble);
  // Node (1, 2): 0.5 from both faces; node (2, 1): 1 from x-, 0.25 from y-.
  EXPECT_NEAR(at_node(field, 1, 2, 0), 0.5, rounding);
  EXPECT_NEAR(at_node(field, 2, 1, 0), 1.0 / (1.0 + 4.0), rounding);
}

TEST(DirichletValues, AreThoseOfTheLiftAndLeaveFreeNodesAlone) {
  Grid3 const grid{{3, 4, 5}, {1.0, 0.7, 1.9}};
  for (char const* text : {"1, 0, flux, flux, flux, flux", "1, 2, 3, 4, 5, 6",
                           "flux, 7, flux, flux, -1, 0.1", "flux, flux, flux, flux, flux, flux"}) {
    Boundary const boundary = parse_boundary(text);
    at::Tensor const before = at::rand({2, 1, 4, 5, 6}, at::kDouble);
    at::Tensor u = before.clone();
    set_dirichlet_values(u, grid, boundary);
    at::Tensor const fixed = free_node_mask(grid, boundary, at::kDouble).eq(0.0);
    EXPECT_TRUE(at::equal(u, at::where(fixed, lift(grid, boundary, at::kDouble), before))) << text;
  }
  at::Tensor u = at::zeros({1, 1, 4, 5, 6}, at::kFloat);
  set_dirichlet_values(u, grid, parse_boundary("0.1, flux, flux, flux, flux, 2"));
  EXPECT_EQ(at_node(u, 0, 2, 5), static_cast<double>(0.1F));
  EXPECT_EQ(at_node(u, 1, 2, 5), 2.0);
  EXPECT_EQ(at_node(u, 1, 2, 4), 0.0);
}

TEST(DirichletValues, RefuseFieldsOfOtherShapes) {
  at::Tensor voxels = at::zeros({1, 1, 3, 4, 5}), flat = at::zeros({4, 5, 6});
  for (at::Tensor* u : {&voxels, &flat}) {
    EXPECT_THROW(set_dirichlet_values(*u, Grid3{{3, 4, 5}, {1.0, 1.0, 1.0}}, Boundary{}), Error);
  }
}

TEST(Lift, OfEqualFacesIsTheirValueToTheLastBit) {
  for (double const value : {0.1, 3.0, 293.15}) {
    Boundary boundary;
    boundary.faces.fill({FaceKind::dirichlet, value});
    at::Tensor const field = lift({{6, 10, 14}, {1.0, 1.0, 1.0}}, boundary, at::kDouble);
    EXPECT_TRUE(field.eq(value).all().item<bool>()) << value;
  }
}

TEST(Lift, OneFaceGivesAConstantAndNoneGivesZero) {
  Grid3 const grid = Grid3::cube(3);
  at::Tensor const constant =
      lift(grid, parse_boundary("flux, flux, 2, flux, flux, flux"), at::kDouble);
  EXPECT_NEAR((constant - 2.0).abs().max().item<double>(), 0.0, 2 * rounding);
  Boundary const none = parse_boundary("flux, flux, flux, flux, flux, flux");
  EXPECT_FALSE(none.has_dirichlet());
  EXPECT_EQ(lift(grid, none, at::kDouble).abs().max().item<double>(), 0.0);
}

}  // namespace boundary_test
}  // namespace voxcycle
