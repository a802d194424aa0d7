// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <exception>
#include <string>

namespace voxcycle {

/// @return what an error says to people: its own words, and advice where memory ended in the
/// standard library or in torch, which give none.
std::string words_of(std::exception const& error);

}  // namespace voxcycle
