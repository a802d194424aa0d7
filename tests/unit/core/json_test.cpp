// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/json.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace voxcycle {
namespace json_test {

TEST(Json, WritesMembersInOrderAndNullForWhatIsNotFinite) {
  auto const infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(line(Json::object({{"grid", "8^3"}, {"a", {0.1, infinity, 2}}, {"on", true}})),
            R"({"grid":"8^3","a":[0.1,null,2],"on":true})");
  EXPECT_EQ(line(Json::object()), "{}");
}

TEST(Json, ReplacesBytesThatAreNoText) {
  EXPECT_EQ(line("\xc3\xa4 \xe4x"), "\"\xc3\xa4 \xef\xbf\xbdx\"");
}

TEST(Json, DocumentsHaveALineForEachMemberAndObject) {
  auto const rows = Json::array({Json::object({{"x", 1}}), Json::object({{"x", 2}})});
  EXPECT_EQ(document(Json::object({{"grid", "8^3"}, {"rows", rows}, {"none", Json::array()}})),
            "{\n  \"grid\": \"8^3\",\n  \"rows\": [\n    {\"x\":1},\n    {\"x\":2}],\n"
            "  \"none\": []\n}\n");
}

}  // namespace json_test
}  // namespace voxcycle
