// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <exception>
#include <string>

namespace c10 {
class Error;
}

namespace voxcycle {

/// @return what an error says to people: its own words, and advice where memory ended in the
/// standard library or in torch, which give none.
std::string words_of(std::exception const& error);

/// Whether a GPU's memory ended, or may have. In a convolution torch tries one engine of cuDNN
/// after another that needs less workspace, and in the end says that there is none.
bool gpu_memory_ended(c10::Error const& error);

}  // namespace voxcycle
