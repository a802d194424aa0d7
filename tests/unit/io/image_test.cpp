// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/io/image.hpp"

#include "voxcycle/core/usage_error.hpp"

#include <limits>
#include <string>
#include <vector>

#include "shard_files.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace image_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// A field of 2 x 2 x 3 voxels in a file.
std::string stored(std::vector<double> const& values) {
  static std::string const directory = fresh_directory("image");
  spit(directory + "/image.raw", bytes_of(values));
  return directory + "/image.raw:2,2,3:float64";
}

std::vector<double> const kLabels{1, 1, 2, 87, 1, 2, 1, 1, 1, 87, 87, 1};

template <class Problem>
void refuse_image(ImageOptions const& options, std::vector<std::string> const& texts,
                  std::vector<double> const& values = kLabels) {
  auto const location = stored(values);
  for (auto const& text : texts) {
    EXPECT_THAT([&] { read_image(location, options); }, ThrowsMessage<Problem>(HasSubstr(text)));
  }
}

Phases phases(std::string const& text) {
  return parse_phases("--phases", text);
}

TEST(Image, LabelsGetTheirValues) {
  auto const image = read_image(stored(kLabels), {.phases = phases("87:0.3, 1:0,2:1e3")});
  EXPECT_THAT(image.field.values, ElementsAre(0, 0, 1e3, 0.3, 0, 1e3, 0, 0, 0, 0.3, 0.3, 0));
  ASSERT_EQ(image.phases.size(), 3U);
  EXPECT_EQ(image.phases[0].voxels, 7);
  EXPECT_EQ(image.phases[2].label, 87);
  EXPECT_EQ(image.phases[2].value, 0.3);
  EXPECT_EQ(image.phases[2].voxels, 3);
  EXPECT_EQ(image.doubt, "");
}

TEST(Image, LabelsAndPhasesHaveToFit) {
  refuse_image<UsageError>({.phases = phases("1:0,2:1")},
                           {"the label 87 has no value (25.00 % of the voxels, the first at (x, y, "
                            "z) = (0, 1, 0)). Add 87:VALUE"});
  refuse_image<UsageError>({.phases = phases("1:0,2:1,87:2,3:4")},
                           {"the phase 3 does not occur (it holds 1, 2, 87)"});
}

TEST(Image, PhasesThatSayNothing) {
  auto const refused = [](std::string const& text, std::string const& why) {
    EXPECT_THAT([&] { phases(text); },
                ThrowsMessage<Error>(AllOf(HasSubstr("--phases"), HasSubstr(why))));
  };
  refused("", "is empty");
  refused("1", "the phase '1' has no value");
  refused("0:1,1:", "the phase '1:' has no value");
  refused("0:1,:2", "a value has no label");
  refused("0:-1", "the value '-1'");
  refused("0:nan", "the value 'nan'");
  refused("0:inf", "the value 'inf'");
  refused("0:1:2", "the value '1:2'");
  refused("0:1,0:2", "the phase 0 stands there twice");
  EXPECT_TRUE(phases("self").are_values);
}

TEST(Image, FewWholeNumbersAreDoubted) {
  auto const location = stored(kLabels);
  EXPECT_THAT(read_image(location).doubt,
              AllOf(HasSubstr("1 (58.33 %), 2 (16.67 %), 87 (25.00 %) look like labels"),
                    HasSubstr("--phases 1:VALUE,2:VALUE,87:VALUE"), HasSubstr("--phases self")));
  auto const meant = read_image(location, {.phases = phases("self")});
  EXPECT_EQ(meant.doubt, "");
  EXPECT_EQ(meant.field.values, kLabels);
  auto fractions = kLabels;
  fractions[0] = 0.5;
  EXPECT_EQ(read_image(stored(fractions)).doubt, "");
  std::vector<double> many;
  for (int k = 0; k < 12; ++k) many.push_back(k);
  EXPECT_EQ(read_image(stored(many)).doubt, "");
  EXPECT_TRUE(read_image(stored(many)).phases.empty());
  EXPECT_EQ(read_image(stored(std::vector<double>(12, 3.0))).doubt, "");
}

TEST(Image, NumbersFromTheThresholdOnAreOne) {
  auto const image = read_image(stored({0.1, 0.5, 0.4999, 7, -3, 0, 1, 1, 1, 1, 1, 1}),
                                {.threshold = 0.5, .phases = phases("0:0,1:2")});
  EXPECT_THAT(image.field.values, ElementsAre(0, 2, 0, 2, 0, 0, 2, 2, 2, 2, 2, 2));
}

TEST(Image, CropIsHalfOpenAndKeepsTheVoxels) {
  std::vector<double> values;
  for (int k = 0; k < 12; ++k) values.push_back(k + 0.5);
  auto const image = read_image(stored(values), {.field = {.spacing = {{2.0, 3.0, 4.0}}},
                                                 .crop = parse_crop("--crop", "1:2,:,1:3")});
  EXPECT_EQ(image.field.grid.name(), "1x2x2");
  EXPECT_THAT(image.field.grid.lengths, ElementsAre(2.0, 6.0, 8.0));
  EXPECT_THAT(image.field.origin, ElementsAre(2.0, 0.0, 4.0));
  EXPECT_THAT(image.field.values, ElementsAre(7.5, 8.5, 10.5, 11.5));
  refuse_image<UsageError>({.crop = parse_crop("--crop", "0:3,:,:")},
                           {"no voxels 0 to 2 along x, it has 2"});
  refuse_image<UsageError>({.crop = parse_crop("--crop", ":,:,3:")}, {"along z, it has 3"});
  for (char const* text :
       {"", "0:1", "0:1,0:1", "1,:,:", "2:1,:,:", "-1:2,:,:", "a:b,:,:", "1:1,:,:", ":,:,:,:"}) {
    EXPECT_THAT([&] { parse_crop("--crop", text); },
                ThrowsMessage<Error>(HasSubstr("--crop = '" + std::string(text) + "'")));
  }
}

TEST(Image, NumbersThatNoConductivityHas) {
  auto values = kLabels;
  values[4] = -1;
  refuse_image<Error>({}, {"1 negative, of 12", "(0, 1, 1)", "--phases"}, values);
  EXPECT_EQ(read_image(stored(values), {.phases = phases("-1:5,1:0,2:1,87:2")}).field.values[4], 5);
  values[4] = std::numeric_limits<double>::quiet_NaN();
  refuse_image<Error>({.threshold = 3.0}, {"1 not a number, of 12", "(0, 1, 1)"}, values);
  values[4] = std::numeric_limits<double>::infinity();
  refuse_image<Error>({.phases = phases("1:0,2:1,87:2")}, {"1 infinite"}, values);
}

TEST(Image, OneValueIsNoMedium) {
  auto const location = stored(kLabels);
  auto const read = [&](std::string const& text) {
    return read_image(location, {.phases = phases(text)});
  };
  EXPECT_NO_THROW(require_two_values(location, read("1:0,2:1,87:1")));
  EXPECT_THAT([&] { require_two_values(location, read("1:0,2:0,87:0")); },
              ThrowsMessage<Error>(HasSubstr("all 12 voxels have the value 0 (nothing conducts)")));
  EXPECT_THAT([&] { require_two_values(location, read("1:2,2:2,87:2")); },
              ThrowsMessage<Error>(HasSubstr("value 2 (its conductivity is that")));
}

}  // namespace image_test
}  // namespace voxcycle
