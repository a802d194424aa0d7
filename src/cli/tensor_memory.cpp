// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/cli/tensor_memory.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

namespace voxcycle {
namespace {

/// Of data, in bytes, as torch's own allocator has it: whole cache lines and vector registers.
constexpr std::size_t kAlignment = 64;

/// Plain blocks with the data at the first aligned place that leaves room for the block's own
/// address in front of it.
class PlainBlocks final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    c10::Device const cpu(c10::DeviceType::CPU);
    if (bytes == 0) return {nullptr, cpu};
    constexpr std::size_t room = sizeof(void*) + kAlignment - 1;
    void* const block = bytes < SIZE_MAX - room ? std::malloc(bytes + room) : nullptr;
    VOXCYCLE_REQUIRE(block != nullptr,
                     "out of memory: " << format_bytes(static_cast<double>(bytes))
                                       << " were asked for. Lower cycle.batch or the grid, or "
                                          "use more processes on more machines.");
    auto const first = reinterpret_cast<std::uintptr_t>(block) + sizeof(void*);
    auto* const data = reinterpret_cast<char*>((first + kAlignment - 1) / kAlignment * kAlignment);
    std::memcpy(data - sizeof(void*), &block, sizeof(void*));
    return {data, data, release, cpu};
  }
  c10::DeleterFnPtr raw_deleter() const override { return release; }
  void copy_data(void* to, void const* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }

 private:
  static void release(void* data) {
    if (data == nullptr) return;
    void* block = nullptr;
    std::memcpy(&block, static_cast<char*>(data) - sizeof(void*), sizeof(void*));
    std::free(block);
  }
};

}  // namespace

void reuse_tensor_memory() {
  static auto* const blocks = new PlainBlocks;  // for ever: torch frees tensors till the very end
  constexpr std::uint8_t over_torchs_own = 1;
  c10::SetCPUAllocator(blocks, over_torchs_own);
}

}  // namespace voxcycle
