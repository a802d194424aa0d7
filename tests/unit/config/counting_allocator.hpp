// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

namespace voxcycle {

/// An allocator of tensors that tells how many bytes of tensors live, and did at most.
class CountingAllocator : public c10::Allocator {
 public:
  /// Takes the place of torch's allocator for the rest of the program.
  CountingAllocator() { c10::SetCPUAllocator(this, /*priority=*/255); }

  c10::DataPtr allocate(std::size_t bytes) override {
    // The size stands in front of the data.
    std::size_t const whole = (bytes + 2 * kHeader - 1) / kHeader * kHeader;
    char* const start = static_cast<char*>(std::aligned_alloc(kHeader, whole));
    std::memcpy(start, &bytes, sizeof bytes);
    live += static_cast<std::int64_t>(bytes);
    peak = std::max(peak, live);
    char* const data = start + kHeader;
    return {data, data, release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return release; }
  void copy_data(void* to, void const* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }

  void restart_peak() { peak = live; }

  static inline std::int64_t live = 0;
  static inline std::int64_t peak = 0;

 private:
  static constexpr std::size_t kHeader = 64;  // torch's alignment
  static void release(void* data) {
    char* const start = static_cast<char*>(data) - kHeader;
    std::size_t bytes = 0;
    std::memcpy(&bytes, start, sizeof bytes);
    live -= static_cast<std::int64_t>(bytes);
    std::free(start);
  }
};

}  // namespace voxcycle
