// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

namespace voxcycle {

/// What a terminal may be shown, whoever chose the text (names of files, what files say of
/// themselves): bytes of control characters but for line breaks and tabs, and those that are no
/// UTF-8, become \x1b and the like.
std::string printable(std::string_view text);

/// Writes that to the standard output, after the pattern of printf.
[[gnu::format(printf, 1, 2)]] void print(char const* pattern, ...);

}  // namespace voxcycle
