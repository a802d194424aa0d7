// SPDX-License-Identifier: BSD-3-Clause
#include "memory.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graphs.hpp"
#include <ATen/ATen.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <sys/mman.h>
#include <unistd.h>

namespace voxcycle::emulated_gpu {
namespace {

std::atomic<std::int64_t> waits = 0;
std::mutex counts_mutex;
std::map<std::string, std::int64_t> counts;  ///< of launches
thread_local int current = 0;

constexpr unsigned char kPoison = 0xff;  // NaN in every floating type

int number(char const* variable, int otherwise) {
  char const* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

std::size_t free_memory() {
  auto const mebibytes =
      number("VOXCYCLE_EMULATED_GPU_FREE", static_cast<int>(memory_of_gpu() >> 20));
  return static_cast<std::size_t>(mebibytes) << 20;
}

/// A signal handler may only do this much.
void on_forbidden_touch(int /*signal*/, siginfo_t* info, void* /*context*/) {
  if (device_of(info->si_addr) >= 0) {
    constexpr char text[] = "emulated GPU: the host touched GPU memory.\n";
    [[maybe_unused]] auto const written = write(STDERR_FILENO, text, sizeof text - 1);
  }
  std::signal(SIGSEGV, SIG_DFL);  // the instruction is repeated, now with the usual end
}

/// All memory of one GPU: pages that are mapped twice, closed where tensors say they are and open
/// where kernels see them.
class Memory {
 public:
  Memory() {
    int const pages = memfd_create("emulated_gpu", 0);
    TORCH_CHECK(pages >= 0 && ftruncate(pages, memory_of_gpu()) == 0, "emulated GPU: no memory");
    closed_ = map(pages, PROT_NONE);
    open_ = map(pages, PROT_READ | PROT_WRITE);
    close(pages);
  }

  bool holds(void const* address) const {
    auto const* const byte = static_cast<char const*>(address);
    return byte >= closed_ && byte < closed_ + memory_of_gpu();
  }

  void* open(void const* address) const {
    return open_ + (static_cast<char const*>(address) - closed_);
  }

  void* allocate(std::size_t bytes) {
    std::lock_guard const lock(mutex_);
    std::size_t size = 512;
    while (size < bytes) size *= 2;
    auto& free = free_[size];
    if (free.empty()) {
      // OutOfMemoryError is what torch throws for GPUs.
      TORCH_CHECK_WITH(OutOfMemoryError, end_ + size <= free_memory(),
                       "CUDA out of memory. Tried to allocate ", bytes, " bytes.");
      free.push_back(closed_ + end_);
      end_ += size;
    }
    void* const address = free.back();
    free.pop_back();
    in_use_[address] = {size, bytes};
    used_ += bytes;
    peak_ = std::max(peak_, used_);
    std::memset(open(address), kPoison, bytes);
    return address;
  }

  void release(void* address) {
    std::lock_guard const lock(mutex_);
    auto const found = in_use_.find(address);
    auto const [size, bytes] = found->second;
    in_use_.erase(found);
    used_ -= bytes;
    std::memset(open(address), kPoison, bytes);
    free_[size].push_back(address);
  }

  /// The most bytes that were asked for and in use at a time.
  std::int64_t peak() const { return static_cast<std::int64_t>(peak_); }

 private:
  static char* map(int pages, int protection) {
    void* const at = mmap(nullptr, static_cast<std::size_t>(memory_of_gpu()), protection,
                          MAP_SHARED | MAP_NORESERVE, pages, 0);
    TORCH_CHECK(at != MAP_FAILED, "emulated GPU: no address space");
    return static_cast<char*>(at);
  }

  char* closed_ = nullptr;
  char* open_ = nullptr;
  std::mutex mutex_;
  std::size_t end_ = 0, used_ = 0, peak_ = 0;
  std::unordered_map<std::size_t, std::vector<void*>> free_;  ///< by size
  std::unordered_map<void*, std::pair<std::size_t, std::size_t>>
      in_use_;  ///< size, bytes asked for
};

/// For ever: torch releases tensors till the very end.
std::vector<Memory>& memories() {
  static auto* const all = [] {
    struct sigaction action {};
    action.sa_sigaction = on_forbidden_touch;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, nullptr);
    return new std::vector<Memory>(static_cast<std::size_t>(device_count()));
  }();
  return *all;
}

Memory& memory(int device) {
  return memories().at(static_cast<std::size_t>(device));
}

void release(void* address) {
  if (address != nullptr && !keeps(address)) free_memory_at(address);
}

class Allocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    c10::Device const device = c10::impl::getDeviceGuardImpl(c10::kCUDA)->getDevice();
    void* const address = bytes == 0 ? nullptr : memory(device.index()).allocate(bytes);
    if (address != nullptr) note_allocation(address);
    return {address, address, release, device};
  }
  c10::DeleterFnPtr raw_deleter() const override { return release; }
  void copy_data(void* to, void const* from, std::size_t bytes) const override {
    std::memcpy(kernel_view(device_of(to), to), kernel_view(device_of(from), from), bytes);
  }

  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t /*pool*/) override {}
  void recordStream(c10::DataPtr const& /*data*/, c10::Stream /*stream*/) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    c10::CachingDeviceAllocator::DeviceStats stats;
    for (auto& stat : stats.reserved_bytes) stat.peak = memory(device).peak();
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex /*device*/) override {}
  void resetPeakStats(c10::DeviceIndex /*device*/) override {}
};

bool const registered = [] {
  c10::SetAllocator(c10::kCUDA, new Allocator);
  return true;
}();

}  // namespace

int device_count() {
  static int const count = number("VOXCYCLE_EMULATED_GPUS", 1);
  return count;
}

int machine_number(int device) {
  bool const alone = std::getenv("VOXCYCLE_EMULATED_GPU_PER_TASK") != nullptr;
  return alone ? number("OMPI_COMM_WORLD_LOCAL_RANK", 0) : device;
}

int capability() {
  return number("VOXCYCLE_EMULATED_GPU_CAPABILITY", 90);
}

std::int64_t memory_of_gpu() {
  static int const mebibytes = number("VOXCYCLE_EMULATED_GPU_MEMORY", 16384);
  return std::int64_t{mebibytes} << 20;
}

int current_device() {
  return current;
}

void set_current_device(int device) {
  current = device;
}

std::int64_t host_waits() {
  return waits;
}

void count_host_wait() {
  ++waits;
}

std::map<std::string, std::int64_t> launches() {
  std::lock_guard const lock(counts_mutex);
  return counts;
}

void count_launch(std::string const& name) {
  if (is_recording() || is_launching()) return;
  std::lock_guard const lock(counts_mutex);
  ++counts[name];
}

void free_memory_at(void* address) {
  memory(device_of(address)).release(address);
}

int device_of(void const* address) {
  for (int device = 0; device < device_count(); ++device) {
    if (memory(device).holds(address)) return device;
  }
  return -1;
}

void* kernel_view(int device, void const* address) {
  if (address == nullptr) return nullptr;
  TORCH_CHECK(device >= 0 && memory(device).holds(address), "emulated GPU: an address that is ",
              device_of(address) < 0 ? "the host's" : "another GPU's", " for GPU ", device);
  return memory(device).open(address);
}

}  // namespace voxcycle::emulated_gpu
