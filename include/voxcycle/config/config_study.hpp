// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/config/config.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace voxcycle {

/// What stands before a key in the sections of a study, and of an ensemble.
inline constexpr std::string_view kVary = "vary.";
inline constexpr std::string_view kCase = "case.";
inline constexpr std::string_view kMember = "member.";

/// "a | b" as {"a", "b"}, without the blanks around each.
std::vector<std::string> split_alternatives(std::string const& text);

/// The sections as they stand in a file; "" without a study.
std::string dump_study(ConfigStudy const& study);

/// @throws Error if the command line sets a key that stands in a section: it would lose.
/// @param section  e.g. "case.direct"
void require_not_overridden(Config const& config, std::string const& key,
                            std::string const& section);

}  // namespace voxcycle
