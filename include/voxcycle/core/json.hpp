// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// JSON from its parts: each function makes a value, and takes those inside as texts made by
/// others.
namespace voxcycle::json {

/// @return `text` as a JSON string with its quotes.
std::string text(std::string_view text);
/// @return nine significant digits; null if not finite (JSON has no such numbers).
std::string number(double value);
std::string boolean(bool value);

/// Names, and values that are JSON already.
using Members = std::vector<std::pair<std::string, std::string>>;
/// @return the object in one line.
std::string object(Members const& members);
/// @return a whole file: the object with a line for each member.
std::string document(Members const& members);

/// @param values  JSON already
std::string array(std::vector<std::string> const& values);
std::string array(std::span<double const> values);
std::string array(std::span<std::int64_t const> values);

}  // namespace voxcycle::json
