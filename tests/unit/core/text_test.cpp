// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/text.hpp"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace text_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Text, FormatsLikePrintf) {
  EXPECT_EQ(format("%d of %s, %.2f", 3, "seven", 1.005), "3 of seven, 1.00");
  EXPECT_EQ(format("%s", std::string(5000, 'x').c_str()), std::string(5000, 'x'));
  EXPECT_EQ(format("%s", ""), "");
}

TEST(Text, NumbersForPeople) {
  EXPECT_EQ(format_percent(0.0027), "0.27 %");
  EXPECT_EQ(format_percent(0.0), "0.00 %");
  EXPECT_EQ(format_percent(0.5), "50.00 %");
  EXPECT_EQ(format_percent(0.000284), "0.028 %");
  EXPECT_EQ(format_percent(3.558e-6), "0.00036 %");
  EXPECT_EQ(format_percent(8.6e-8), "8.6e-06 %");
  EXPECT_EQ(format_percent(-8.6e-8), "-8.6e-06 %");
  EXPECT_EQ(format_percent(85346696.35), "8.5e+09 %");
  EXPECT_EQ(format_percent(std::nan("")), "-");
  EXPECT_EQ(format_seconds(2.54e-4), "0.254 ms");
  EXPECT_EQ(format_seconds(std::nan("")), "-");
  EXPECT_EQ(format_seconds(0.95), "950 ms");
  EXPECT_EQ(format_seconds(0.9996), "1.0 s");
  EXPECT_EQ(format_seconds(12.34), "12.3 s");
  EXPECT_EQ(format_seconds(245), "4 min 05 s");
  EXPECT_EQ(format_seconds(2 * 3600 + 10 * 60 + 7), "2 h 10 min");
  EXPECT_EQ(format_seconds(3599.6), "1 h 00 min");
  EXPECT_EQ(format_bytes(17), "17 B");
  EXPECT_EQ(format_bytes(1.5 * 1024 * 1024), "1.5 MiB");
  EXPECT_EQ(format_bytes(5e15), "4547.5 TiB");
}

TEST(Text, EndsOfARangeCanBeToldApart) {
  using Ends = std::pair<std::string, std::string>;
  EXPECT_EQ(format_ends(0.0, 1.0, 3), Ends("0", "1"));
  EXPECT_EQ(format_ends(-0.00017234, 0.00017234, 3), Ends("-0.000172", "0.000172"));
  EXPECT_EQ(format_ends(400.0, 400.25, 3), Ends("400", "400.25"));
  EXPECT_EQ(format_ends(1000.0, 1000.5, 4), Ends("1000", "1000.5"));
  EXPECT_EQ(format_ends(1000.0, 1000.123, 4), Ends("1000", "1000.12")) << "two digits of the range";
  EXPECT_EQ(format_ends(-7.00001, -7.0, 3), Ends("-7.00001", "-7"));
  EXPECT_EQ(format_ends(3.0, 3.0, 3), Ends("3", "3"));
  auto const [low, high] = format_ends(1.0, std::nextafter(1.0, 2.0), 3);
  EXPECT_NE(low, high);
}

TEST(Text, SplitsAtCommasAndTrims) {
  EXPECT_THAT(split_list(""), IsEmpty());
  EXPECT_THAT(split_list("one"), ElementsAre("one"));
  EXPECT_THAT(split_list(" 16^3, 32^3 ,64^3"), ElementsAre("16^3", "32^3", "64^3"));
  EXPECT_THAT(split_list("a,,b"), ElementsAre("a", "", "b"));
}

TEST(Text, ANumberIsTheWholeText) {
  EXPECT_EQ(parse_number<std::int64_t>("16"), 16);
  EXPECT_EQ(parse_number<std::int64_t>("-3"), -3);
  EXPECT_EQ(parse_number<std::int64_t>("9223372036854775807"),
            std::numeric_limits<std::int64_t>::max());
  for (auto const* text :
       {"", "16abc", "2x", "x2", " 3", "3 ", "1.5", "1e3", "+4", "-", "9223372036854775808"}) {
    EXPECT_FALSE(parse_number<std::int64_t>(text)) << text;
  }
}

TEST(Text, NearestNamesComeFirst) {
  std::vector<std::string> const names = {"train.batch", "train.rate", "grid.levels",
                                          "train.rates"};
  EXPECT_THAT(nearest_names("train.rte", names, 2), ElementsAre("train.rate", "train.rates"));
  EXPECT_THAT(nearest_names("grid.level", names, 1), ElementsAre("grid.levels"));
  EXPECT_EQ(nearest_names("x", names).size(), 3U);
  EXPECT_EQ(nearest_names("x", names, 9).size(), 4U);
  EXPECT_THAT(nearest_names("x", {}), IsEmpty());
  // Levenshtein's own example has distance 3: one step more than "sittin" away from "kitten".
  EXPECT_THAT(nearest_names("kitten", {"sitting", "sittin", "kitty"}, 3),
              ElementsAre("sittin", "kitty", "sitting"));
}

TEST(Text, NamesThatWereMistyped) {
  std::vector<std::string> const names = {"train", "evaluate", "out", "f", "iterations"};
  EXPECT_EQ(mistyped_name("tain", names), "train");
  EXPECT_EQ(mistyped_name("trian", names), "train") << "two letters that changed places";
  EXPECT_EQ(mistyped_name("evalaute", names), "evaluate");
  EXPECT_EQ(mistyped_name("output", names), "out");
  EXPECT_EQ(mistyped_name("iter", names), "iterations");
  for (auto const* word : {"", "lr", "paint", "o", "epochs"}) {
    EXPECT_FALSE(mistyped_name(word, names)) << word;
  }
}

TEST(Text, Counts) {
  EXPECT_EQ(counted(1, "process", "processes"), "1 process");
  EXPECT_EQ(counted(0, "process", "processes"), "0 processes");
  EXPECT_EQ(counted(2, "core", "cores"), "2 cores");
}

TEST(Text, Joins) {
  EXPECT_EQ(join({}), "");
  EXPECT_EQ(join({"a"}), "a");
  EXPECT_EQ(join({"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(join({"a", "b"}, "/"), "a/b");
}

}  // namespace text_test
}  // namespace voxcycle
