// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/rehearsal.hpp"

#include <algorithm>
#include <utility>

#include <c10/core/Allocator.h>

namespace voxcycle {
namespace {

thread_local Rehearsal* current_rehearsal = nullptr;

struct Allocation {
  std::shared_ptr<Rehearsal::Counts> counts;
  std::int64_t bytes;
};

void release(void* allocation) {
  auto* const done = static_cast<Allocation*>(allocation);
  done->counts->held -= done->bytes;
  delete done;
}

/// Of the meta device: counts, and gives the address of its own note, which nobody touches, so that
/// tensors count as allocated.
class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    c10::Device const meta(c10::DeviceType::Meta);
    auto const* const rehearsal = Rehearsal::current();
    if (rehearsal == nullptr || bytes == 0) return {nullptr, meta};
    auto const& counts = rehearsal->counts();
    counts->held += static_cast<std::int64_t>(bytes);
    counts->peak = std::max(counts->peak, counts->held);
    auto* const allocation = new Allocation{counts, static_cast<std::int64_t>(bytes)};
    return {allocation, allocation, release, meta};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* /*to*/, void const* /*from*/, std::size_t /*bytes*/) const override {}
};

void count_meta_tensors() {
  static auto* const allocator = [] {
    auto* const made = new CountingAllocator;  // for ever: torch frees tensors till the very end
    constexpr std::uint8_t over_torchs_own = 1;
    c10::SetAllocator(c10::DeviceType::Meta, made, over_torchs_own);
    return made;
  }();
  static_cast<void>(allocator);
}

}  // namespace

Rehearsal::Rehearsal(Machine const& machine) : machine_(machine) {
  count_meta_tensors();
  current_rehearsal = this;
}

Rehearsal::~Rehearsal() {
  current_rehearsal = nullptr;
}

Rehearsal* Rehearsal::current() {
  return current_rehearsal;
}

void Rehearsal::meet(LargestTensor const& tensor) {
  if (tensor.elements > largest_.elements) largest_ = tensor;
}

}  // namespace voxcycle
