// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/field/family.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "samples.hpp"
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace inclusions_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

FamilyOptions options_of(InclusionOptions const& inclusions) {
  FamilyOptions options;
  options.name = "inclusions";
  options.inclusions = inclusions;
  return options;
}

double fraction_of(std::vector<float> const& nu, float value) {
  return static_cast<double>(std::count(nu.begin(), nu.end(), value)) /
         static_cast<double>(nu.size());
}

TEST(Inclusions, ASphereHasItsVolume) {
  auto const family = make_family(options_of({.count = {1, 1}, .contrast = 50}));
  for (double radius : {0.21, 0.3, 0.45}) {
    auto const nu =
        evaluate(*family, {1, 0, 0.5, 0.49, 0.503, radius, radius, radius}, Grid3::cube(64));
    double const exact = 4.0 / 3.0 * M_PI * std::pow(radius, 3);
    // Centres in a ball of radius R voxels: the count is off by some R (points in a ball), at most.
    double const within = 3 * (radius * 64) / std::pow(64, 3);
    EXPECT_NEAR(fraction_of(nu, 50.0F), exact, within) << radius;
    EXPECT_EQ(fraction_of(nu, 50.0F) + fraction_of(nu, 1.0F), 1.0);
  }
}

TEST(Inclusions, ASphereIsRoundInABoxThatIsNoCube) {
  auto const family = make_family(options_of({.count = {1, 1}, .contrast = 50}));
  // Centre (0.25, 0.5, 0.125) of [0, 0.5] x [0, 1] x [0, 0.25].
  auto const nu =
      evaluate(*family, {1, 0, 0.5, 0.5, 0.5, 0.1, 0.1, 0.1}, {{32, 64, 16}, {0.5, 1, 0.25}});
  double const exact = 4.0 / 3.0 * M_PI * std::pow(0.1 * 64, 3);
  EXPECT_NEAR(fraction_of(nu, 50.0F) * 32 * 64 * 16, exact, 3 * 0.1 * 64);
  EXPECT_EQ(nu[(16 * 64 + 26) * 16 + 8], 50.0F);
  EXPECT_EQ(nu[(16 * 64 + 25) * 16 + 8], 1.0F);
  EXPECT_EQ(nu[(10 * 64 + 32) * 16 + 8], 50.0F);
  EXPECT_EQ(nu[(9 * 64 + 32) * 16 + 8], 1.0F);
}

TEST(Inclusions, ABoxAlongVoxelFacesHasItsExactVoxels) {
  auto const family = make_family(options_of({.count = {1, 1}, .contrast = 1e-3}));
  // [1/4, 3/4] x [0, 1/2] x [1/2, 5/4], which leaves the cube at z = 1.
  auto const nu =
      evaluate(*family, {1, 1, 0.5, 0.25, 0.875, 0.25, 0.25, 0.375}, {{8, 4, 2}, {1, 1, 1}});
  for (int x = 0; x < 8; ++x) {
    for (int y = 0; y < 4; ++y) {
      for (int z = 0; z < 2; ++z) {
        bool const inside = x >= 2 && x < 6 && y < 2 && z == 1;
        EXPECT_EQ(nu[(x * 4 + y) * 2 + z], inside ? 1e-3F : 1.0F) << x << ' ' << y << ' ' << z;
      }
    }
  }
}

TEST(Inclusions, AgreeWithTheirParametersPointByPoint) {
  auto const family =
      make_family(options_of({.shape = "both", .count = {3, 9}, .radius = {0.02, 0.4}}));
  Grid3 const grid{{12, 7, 10}, {1.0, 2.0, 0.5}};
  for (int index = 0; index < 20; ++index) {
    auto const omega = family->omega(4, index);
    auto const nu = evaluate(*family, omega, grid);
    for (int x = 0; x < 12; ++x) {
      for (int y = 0; y < 7; ++y) {
        for (int z = 0; z < 10; ++z) {
          bool inside = false;
          for (int k = 0; k < static_cast<int>(omega[0]); ++k) {
            double const* in = omega.data() + 1 + 7 * k;
            // The grid's box is 1 x 2 x 0.5.
            double const d[] = {std::abs((x + 0.5) / 12 - in[1]) / in[4],
                                2.0 * std::abs((y + 0.5) / 7 - in[2]) / in[5],
                                0.5 * std::abs((z + 0.5) / 10 - in[3]) / in[6]};
            inside = inside || (in[0] == 0 ? std::hypot(d[0], d[1], d[2]) <= 1
                                           : d[0] <= 1 && d[1] <= 1 && d[2] <= 1);
          }
          // Where inclusions overlap the contrast counts once.
          ASSERT_EQ(nu[(x * 7 + y) * 10 + z], inside ? 1e3F : 1.0F);
        }
      }
    }
  }
}

TEST(Inclusions, AreOneFunctionOfSpaceOnAllGrids) {
  // An axis of n voxels shares its centres with one of 3 n voxels.
  auto const family = make_family(options_of({.shape = "both"}));
  for (int index = 0; index < 5; ++index) {
    auto const omega = family->omega(1, index);
    auto const coarse = evaluate(*family, omega, Grid3::cube(8));
    auto const fine = evaluate(*family, omega, Grid3::cube(24));
    for (int x = 0; x < 8; ++x) {
      for (int y = 0; y < 8; ++y) {
        for (int z = 0; z < 8; ++z) {
          ASSERT_EQ(coarse[(x * 8 + y) * 8 + z],
                    fine[((3 * x + 1) * 24 + 3 * y + 1) * 24 + 3 * z + 1]);
        }
      }
    }
  }
}

TEST(Inclusions, ParametersFillTheirRanges) {
  auto const family =
      make_family(options_of({.shape = "both", .count = {2, 5}, .radius = {0.1, 0.2}}));
  EXPECT_EQ(family->parameter_count(), 1 + 7 * 5);
  std::vector<int> counts(6, 0);
  Estimate boxes;
  std::vector<Estimate> centre(3);
  Estimate radius;
  for (int index = 0; index < 2000; ++index) {
    auto const omega = family->omega(9, index);
    ASSERT_EQ(omega.size(), 36U);
    auto const count = static_cast<std::size_t>(omega[0]);
    ++counts.at(count);
    for (std::size_t k = 0; k < count; ++k) {
      double const* in = omega.data() + 1 + 7 * k;
      boxes.add(in[0]);
      for (std::size_t axis = 0; axis < 3; ++axis) {
        centre[axis].add(in[1 + axis]);
        ASSERT_TRUE(in[4 + axis] >= 0.1 && in[4 + axis] <= 0.2);
      }
      radius.add(in[5]);
      EXPECT_EQ(in[4] == in[5] && in[5] == in[6], in[0] == 0) << "spheres have one radius";
    }
    EXPECT_TRUE(std::all_of(omega.begin() + 1 + 7 * static_cast<std::ptrdiff_t>(count), omega.end(),
                            [](double value) { return value == 0; }));
  }
  constexpr double kStandardErrors = 4.5;
  for (int count : {2, 3, 4, 5}) EXPECT_NEAR(counts.at(count), 500, kStandardErrors * 20) << count;
  EXPECT_EQ(counts[0] + counts[1], 0);
  EXPECT_NEAR(boxes.mean(), 0.5, kStandardErrors * boxes.standard_error());
  EXPECT_NEAR(radius.mean(), 0.15, kStandardErrors * radius.standard_error());
  // Uniform over [0.1, 0.2]: a standard deviation of 0.1 / sqrt(12).
  EXPECT_NEAR(radius.standard_error() * std::sqrt(7000.0), 0.1 / std::sqrt(12.0), 1e-3);
  for (auto const& of_axis : centre) {
    EXPECT_NEAR(of_axis.mean(), 0.5, kStandardErrors * of_axis.standard_error());
  }
  auto const only = [](char const* shape) {
    auto const omega = make_family(options_of({.shape = shape, .count = {1, 1}}))->omega(1, 0);
    return omega[1];
  };
  EXPECT_EQ(only("spheres"), 0.0);
  EXPECT_EQ(only("boxes"), 1.0);
}

TEST(Inclusions, BytesDependOnNothingButSeedIndexAndGrid) {
  auto const options = options_of({.shape = "both"});
  auto const family = make_family(options);
  Grid3 const grid = Grid3::cube(24);
  int const threads = at::get_num_threads();
  at::set_num_threads(1);
  auto const alone = evaluate(*family, family->omega(1, 7), grid);
  at::set_num_threads(3);
  EXPECT_EQ(evaluate(*make_family(options), family->omega(1, 7), grid), alone);
  at::set_num_threads(threads);
  EXPECT_NE(evaluate(*family, family->omega(1, 8), grid), alone);
  EXPECT_NE(evaluate(*family, family->omega(2, 7), grid), alone);
  // Not a check of the field: these bytes must never change, or data sets would.
  EXPECT_EQ(digest(alone), 4400347319281589289U);
}

TEST(Inclusions, RefuseWhatTheyCannotBe) {
  auto const refuse = [](InclusionOptions const& options, char const* text) {
    EXPECT_THAT([&] { make_family(options_of(options)); }, ThrowsMessage<Error>(HasSubstr(text)));
  };
  refuse({.shape = "cubes"}, "shape 'cubes' is unknown. Choose one of spheres, boxes, both");
  refuse({.count = {0, 3}}, "within 1 to 1000");
  refuse({.count = {4, 3}}, "rising");
  refuse({.count = {1, 1001}}, "within 1 to 1000");
  refuse({.radius = {0.2, 0.1}}, "rising");
  refuse({.radius = {0.0, 0.1}}, "0.001");
  refuse({.radius = {0.1, 0.6}}, "0.5");
  refuse({.contrast = 0}, "1e-6");
  refuse({.contrast = 1e7}, "1e6");
  refuse({.contrast = std::nan("")}, "1e6");

  auto const family = make_family(options_of({.count = {1, 2}}));
  std::vector<double> const sound = {1, 0, 0.5, 0.5, 0.5, 0.1, 0.1, 0.1, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_NO_THROW(evaluate(*family, sound, Grid3::cube(2)));
  for (auto const& [place, value] : {std::pair(0, 3.0), std::pair(0, 0.5), std::pair(1, 0.5),
                                     std::pair(2, std::nan("")), std::pair(5, 0.0)}) {
    auto omega = sound;
    omega[static_cast<std::size_t>(place)] = value;
    EXPECT_THROW(evaluate(*family, omega, Grid3::cube(2)), Error) << place;
  }
  EXPECT_THROW(evaluate(*family, {1, 0, 0.5, 0.5, 0.5, 0.1, 0.1, 0.1}, Grid3::cube(2)), Error);
}

}  // namespace inclusions_test
}  // namespace voxcycle
