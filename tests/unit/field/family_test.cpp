// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/field/family.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace family_test {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Property;
using ::testing::ThrowsMessage;

TEST(Family, MakesEveryNameThatItLists) {
  for (std::string const& name : family_names()) {
    FamilyOptions options;
    options.name = name;
    options.file = {.location = "a.h5:/nu",
                    .open = [](auto const&, auto const&) { return VoxelArrays{}; }};
    EXPECT_THAT(make_family(options)->signature(), HasSubstr(name));
  }
  EXPECT_THAT(family_names(), IsSupersetOf({"kl", "grf", "inclusions", "file"}));
}

/// What every family owes, as far as its defaults go.
TEST(Family, SamplesArePositivePureFunctionsOfTheirSize) {
  Grid3 const grid{{8, 4, 6}, {1.0, 0.5, 0.75}};
  auto const count = static_cast<std::size_t>(grid.voxel_count());
  for (std::string const& name : family_names()) {
    FamilyOptions options;
    options.name = name;
    options.file = {.location = "a.h5:/nu", .open = [&](auto const&, auto const&) {
                      return VoxelArrays{grid, 5, [](auto index, auto first, auto planes) {
                                           std::vector<float> nu;
                                           for (int k = 0; k < 24 * planes; ++k)
                                             nu.push_back(1.0F + float(index + 24 * first + k));
                                           return nu;
                                         }};
                    }};
    auto const family = make_family(options), again = make_family(options);
    std::vector<float> first(count), second(count);
    for (std::int64_t index : {0, 3}) {
      auto const omega = family->omega(7, index);
      EXPECT_EQ(std::ssize(omega), family->parameter_count()) << name;
      family->evaluate(omega, grid, {}, first);
      again->evaluate(again->omega(7, index), grid, {}, second);
      EXPECT_EQ(first, second) << name;
      for (Planes const& planes : {Planes{0, 1}, Planes{2, 5}, Planes{7, 1}}) {
        auto const size = static_cast<std::size_t>(24 * planes.count);
        family->evaluate(omega, grid, planes, std::span(second).first(size));
        auto const begin = first.begin() + 24 * planes.begin;
        EXPECT_TRUE(std::equal(begin, begin + 24 * planes.count, second.begin()))
            << name << ", planes from " << planes.begin;
      }
      for (float const nu : first) ASSERT_TRUE(nu > 0.0F && std::isfinite(nu)) << name << ' ' << nu;
    }
    auto const less = std::span(first).first(count - 1);
    EXPECT_THROW(family->evaluate(family->omega(7, 0), grid, {}, less), Error) << name;
    EXPECT_THROW(family->evaluate(family->omega(7, 0), grid, {0, 7}, first), Error) << name;
  }
}

TEST(Family, RefusesAnUnknownNameAndListsTheValidOnes) {
  FamilyOptions options;
  options.name = "kll";
  EXPECT_THAT(
      [&] { make_family(options); },
      ThrowsMessage<Error>(HasSubstr("'kll' is unknown. Choose one of kl, grf, inclusions, file")));
}

TEST(Family, SignatureTellsParametersApart) {
  FamilyOptions options;
  std::string const first = make_family(options)->signature();
  EXPECT_EQ(first, "kl(modes=4, range=3)");
  options.modes = 6;
  EXPECT_NE(make_family(options)->signature(), first);
  options.modes = 4;
  options.omega_range = 3.0 + 1e-12;
  EXPECT_NE(make_family(options)->signature(), first);
}

}  // namespace family_test
}  // namespace voxcycle
