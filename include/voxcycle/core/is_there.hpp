// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace voxcycle {

/// Whether there is a file or directory of that name, or what a link leads to. @throws Error with
/// the system's text where that cannot be told, e.g. for lack of permissions.
bool is_there(std::string const& path);

}  // namespace voxcycle
