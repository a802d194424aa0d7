// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/whereabouts.hpp"

#include <atomic>

namespace voxcycle {
namespace {

std::atomic<std::int64_t> step_now = 0;
std::atomic<char const*> part_now = "";
std::atomic<char const*> call_now = "";
std::atomic<bool> has_gpu = false;
std::atomic<int> calls = 0;  ///< of all threads, under way
std::atomic<std::uint64_t> changes = 0;

}  // namespace

Whereabouts whereabouts() {
  return {step_now, part_now, call_now, calls > 0, has_gpu, changes};
}

void note_step(std::int64_t step) {
  step_now = step;
  ++changes;
}

void note_part(char const* part) {
  part_now = part;
  ++changes;
}

void note_gpu() {
  has_gpu = true;
}

WaitsForOthers::WaitsForOthers(char const* call) {
  call_now = call;
  ++calls;
  ++changes;
}

WaitsForOthers::~WaitsForOthers() {
  --calls;
  ++changes;
}

}  // namespace voxcycle
