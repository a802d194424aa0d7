// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <map>
#include <string>

namespace voxcycle::fuzz {

/// Reads bytes as one of our formats.
using Reader = std::function<void(std::string const& bytes)>;

/// By name.
std::map<std::string, Reader> const& readers();
/// An Error is a refusal, and no finding.
void try_to_read(Reader const& reader, std::string const& bytes);

}  // namespace voxcycle::fuzz
