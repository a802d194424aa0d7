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

/// In a convolution torch tries one engine of cuDNN after another that needs less workspace, and in
/// the end says that there is none: a GPU's memory may have ended then.
enum class GpuMemory { fine, may_have_ended, ended };
GpuMemory gpu_memory_after(c10::Error const& error);

}  // namespace voxcycle
