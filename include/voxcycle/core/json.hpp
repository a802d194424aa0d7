// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace voxcycle {

/// Members keep their order; numbers that are not finite are written as null.
using Json = nlohmann::ordered_json;

/// In one line. Bytes that are no UTF-8, as names of files may have, become U+FFFD.
std::string line(Json const& value);

/// A whole file: a line for each member of the object, and for each object in a list of it.
std::string document(Json const& object);

}  // namespace voxcycle
