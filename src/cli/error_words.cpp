// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/cli/error_words.hpp"

#include <new>
#include <stdexcept>
#include <string_view>

#include <c10/util/Exception.h>

namespace voxcycle {
namespace {

/// A size that no vector can have ends in std::length_error: an array beyond any memory.
bool is_out_of_memory(std::exception const& error) {
  return dynamic_cast<std::bad_alloc const*>(&error) != nullptr ||
         dynamic_cast<std::length_error const*>(&error) != nullptr;
}

}  // namespace

std::string words_of(std::exception const& error) {
  if (is_out_of_memory(error)) {
    return std::string("out of memory on this machine (") + error.what() +
           "). Use a coarser or smaller field, a smaller batch, or fewer processes on a machine; "
           "train "
           "--dry-run says what a training needs.";
  }
  auto const* const of_torch = dynamic_cast<c10::Error const*>(&error);
  if (of_torch == nullptr) return error.what();
  // what() brings the stack along.
  std::string words = of_torch->what_without_backtrace();
  if (auto const memory = gpu_memory_after(*of_torch); memory != GpuMemory::fine) {
    words += memory == GpuMemory::ended
                 ? " Other"
                 : " Memory may be short for cuDNN, or it has no reproducible engine "
                   "(then try train.reduction = fast). Other";
    words +=
        " programs may hold the rest (see nvidia-smi). Use a coarser grid, or run.device = cpu.";
  }
  return words;
}

GpuMemory gpu_memory_after(c10::Error const& error) {
  if (dynamic_cast<c10::OutOfMemoryError const*>(&error) != nullptr) return GpuMemory::ended;
  std::string_view const words(error.what_without_backtrace());
  bool const no_engine = words.find("unable to find an engine") != std::string_view::npos;
  return no_engine ? GpuMemory::may_have_ended : GpuMemory::fine;
}

}  // namespace voxcycle
