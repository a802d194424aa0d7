// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/json.hpp"

#include <array>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace voxcycle {
namespace {

// The expected texts are those of RFC 8259.

TEST(Json, TextsAreQuotedAndEscaped) {
  EXPECT_EQ(json::text(""), R"("")");
  EXPECT_EQ(json::text("32^3"), R"("32^3")");
  EXPECT_EQ(json::text("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "\"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80\"");
  // Bytes that are no UTF-8: of Latin-1, cut off, overlong.
  EXPECT_EQ(json::text("\xe4"
                       "a"),
            "\"\xef\xbf\xbd"
            "a\"");
  EXPECT_EQ(json::text("\xe2\x82"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
  for (char const* bytes : {"\xc0\xaf", "\xe0\x80", "\xed\xa0", "\xf0\x80", "\xf4\x90"}) {
    EXPECT_EQ(json::text(std::string(bytes) + "\x80\x80"),
              "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
  }
  EXPECT_EQ(json::text(R"(C:\a "b")"), R"("C:\\a \"b\"")");
  EXPECT_EQ(json::text("line\nend\x1f"), R"("line\u000aend\u001f")");
  EXPECT_EQ(json::text("\xc3\xa9\xe2\x82\xac"), "\"\xc3\xa9\xe2\x82\xac\"") << "UTF-8 as it is";
}

TEST(Json, NumbersThatAreNoneAreNull) {
  EXPECT_EQ(json::number(0.1), "0.1");
  EXPECT_EQ(json::number(-1.0 / 3.0), "-0.333333333");
  EXPECT_EQ(json::number(1e-8), "1e-08");
  EXPECT_EQ(json::number(std::nan("")), "null");
  EXPECT_EQ(json::number(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(json::number(-std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(json::boolean(true), "true");
  EXPECT_EQ(json::boolean(false), "false");
}

TEST(Json, ArraysHoldTextsAndNumbers) {
  EXPECT_EQ(json::array(std::vector<std::string>{}), "[]");
  EXPECT_EQ(json::array(std::vector<std::string>{"1", "null"}), "[1, null]");
  EXPECT_EQ(json::array(std::array{0.5, 2.0}), "[0.5, 2]");
  // More digits than a number has.
  EXPECT_EQ(json::array(std::vector<std::int64_t>{-1, 12345678901}), "[-1, 12345678901]");
}

TEST(Json, ObjectsAreOneLineAndDocumentsHaveOneAMember) {
  json::Members const members{{"grid", json::text("8^3")},
                              {"a \"b\"", json::array(std::array{1.0})}};
  EXPECT_EQ(json::object(members), R"({"grid": "8^3", "a \"b\"": [1]})");
  EXPECT_EQ(json::document(members), "{\n  \"grid\": \"8^3\",\n  \"a \\\"b\\\"\": [1]\n}\n");
  EXPECT_EQ(json::object({}), "{}");
}

}  // namespace
}  // namespace voxcycle
