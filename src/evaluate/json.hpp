// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace voxcycle::json {

/// @return `text` as a JSON string with its quotes.
std::string text(std::string_view text);
/// @return nine significant digits; null if not finite (JSON has no such numbers).
std::string number(double value);
/// @param members  names and values that are JSON already
std::string object(std::vector<std::pair<std::string, std::string>> const& members);
/// @param values  JSON already
std::string array(std::vector<std::string> const& values);
std::string array(std::vector<double> const& values);

}  // namespace voxcycle::json
