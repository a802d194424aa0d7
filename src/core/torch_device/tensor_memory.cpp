// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/tensor_memory.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/large_blocks.hpp"
#include "voxcycle/core/text.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

namespace voxcycle {
namespace {

/// Of data, in bytes, as torch's own allocator has it: whole cache lines and vector registers.
constexpr std::size_t kAlignment = 64;
/// Larger blocks would leave holes that matter.
constexpr std::size_t kLarge = std::size_t{32} << 20;

/// In front of a block's data.
struct Origin {
  void* block;
  std::size_t bytes;
};

/// Blocks with the data at the first aligned place that leaves room for their origin.
class PlainBlocks final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    c10::Device const cpu(c10::DeviceType::CPU);
    if (bytes == 0) return {nullptr, cpu};
    constexpr std::size_t room = sizeof(Origin) + kAlignment - 1;
    Origin const origin{bytes < SIZE_MAX / 2 ? take(bytes + room) : nullptr, bytes + room};
    VOXCYCLE_REQUIRE(origin.block != nullptr,
                     "out of memory: " << format_bytes(static_cast<double>(bytes))
                                       << " were asked for. Lower cycle.batch or the grid, or "
                                          "use more processes on more machines.");
    auto const block = reinterpret_cast<std::uintptr_t>(origin.block);
    auto const data_at = (block + room) / kAlignment * kAlignment;
    auto* const data = static_cast<char*>(origin.block) + (data_at - block);
    std::memcpy(data - sizeof(Origin), &origin, sizeof(Origin));
    return {data, data, release, cpu};
  }
  c10::DeleterFnPtr raw_deleter() const override { return release; }
  void copy_data(void* to, void const* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }

 private:
  /// @return nullptr if there is no memory.
  static void* take(std::size_t bytes) try {
    return bytes < kLarge ? std::malloc(bytes) : large_blocks().take(bytes);
  } catch (std::bad_alloc const&) {
    return nullptr;
  }
  static void release(void* data) {
    if (data == nullptr) return;
    Origin origin;
    std::memcpy(&origin, static_cast<char*>(data) - sizeof(Origin), sizeof(Origin));
    if (origin.bytes < kLarge) {
      std::free(origin.block);
    } else {
      large_blocks().give(origin.block, origin.bytes);
    }
  }
};

}  // namespace

void reuse_tensor_memory() {
  static auto* const blocks = new PlainBlocks;  // for ever: torch frees tensors till the very end
  constexpr std::uint8_t over_torchs_own = 1;
  c10::SetCPUAllocator(blocks, over_torchs_own);
}

}  // namespace voxcycle
