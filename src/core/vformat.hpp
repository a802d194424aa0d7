// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdarg>
#include <string>

namespace voxcycle {

/// As format (text.hpp), of arguments that another function was given.
std::string vformat(char const* pattern, std::va_list arguments);

}  // namespace voxcycle
