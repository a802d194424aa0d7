// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/field/family.hpp"

#include "voxcycle/core/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Property;
using testing::ThrowsMessage;

TEST(Family, MakesEveryNameThatItLists) {
  for (std::string const& name : family_names()) {
    FamilyOptions options;
    options.name = name;
    options.file = {.location = "a.h5:/nu", .open = [](auto const&) { return VoxelArrays{}; }};
    EXPECT_THAT(make_family(options)->signature(), HasSubstr(name));
  }
  EXPECT_THAT(family_names(), IsSupersetOf({"kl", "grf", "inclusions", "file"}));
}

TEST(Family, RefusesAnUnknownNameAndListsTheValidOnes) {
  FamilyOptions options;
  options.name = "kll";
  EXPECT_THAT([&] { make_family(options); },
              ThrowsMessage<Error>(HasSubstr("'kll'. Use one of: kl, grf, inclusions, file")));
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

}  // namespace
}  // namespace voxcycle
