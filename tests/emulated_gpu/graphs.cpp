// SPDX-License-Identifier: BSD-3-Clause
// In place of src/core/torch_device/cuda_graph.cpp.
#include "graphs.hpp"

#include "voxcycle/core/device_graph.hpp"
#include "voxcycle/core/error.hpp"

#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "memory.hpp"

namespace voxcycle {

namespace emulated_gpu {
namespace {

std::mutex mutex;
std::atomic<std::vector<std::function<void()>>*> recorded = nullptr;
std::atomic<bool> launching = false;

struct Kept {
  void const* graph;
  bool freed;  ///< by who took it
};
std::map<void*, Kept> kept;

}  // namespace

bool is_recording() {
  return recorded != nullptr;
}

void record(std::function<void()> work) {
  std::lock_guard const lock(mutex);
  recorded.load()->push_back(std::move(work));
}

bool is_launching() {
  return launching;
}

void note_allocation(void* address) {
  std::lock_guard const lock(mutex);
  if (is_recording()) kept[address] = {recorded.load(), false};
}

bool keeps(void* address) {
  std::lock_guard const lock(mutex);
  auto const found = kept.find(address);
  if (found == kept.end()) return false;
  found->second.freed = true;
  return true;
}

namespace {

/// Whoever still has some of the memory frees it later.
void give_back(void const* graph) {
  std::vector<void*> freed;
  {
    std::lock_guard const lock(mutex);
    for (auto entry = kept.begin(); entry != kept.end();) {
      bool const its = entry->second.graph == graph;
      if (its && entry->second.freed) freed.push_back(entry->first);
      entry = its ? kept.erase(entry) : std::next(entry);
    }
  }
  for (void* address : freed) free_memory_at(address);
}

}  // namespace
}  // namespace emulated_gpu

struct DeviceGraph::Impl {
  ~Impl() {
    works.clear();
    emulated_gpu::give_back(&works);
  }
  std::vector<std::function<void()>> works;
};

DeviceGraph::DeviceGraph(int /*device*/, std::function<void()> const& work) {
  auto const graph = std::make_shared<Impl>();
  emulated_gpu::recorded = &graph->works;
  std::string failure;
  try {
    work();
  } catch (std::exception const& error) {
    failure = error.what();
  }
  emulated_gpu::recorded = nullptr;
  if (!failure.empty()) throw Error(failure);
  impl_ = graph;
}

DeviceGraph::~DeviceGraph() = default;

bool DeviceGraph::is_recording() {
  return emulated_gpu::is_recording();
}

void DeviceGraph::launch() const {
  emulated_gpu::count_launch("graph");
  emulated_gpu::launching = true;
  for (auto const& work : impl_->works) work();
  emulated_gpu::launching = false;
}

}  // namespace voxcycle
