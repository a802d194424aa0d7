// SPDX-License-Identifier: BSD-3-Clause
// What torch asks a device type for besides operators: current device and stream, pinned memory,
// versions.
#include <chrono>

#include "memory.hpp"
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace voxcycle::emulated_gpu {
namespace {

using Clock = std::chrono::steady_clock;

c10::DeviceIndex current() {
  return static_cast<c10::DeviceIndex>(current_device());
}

/// One stream a GPU, whose work is done at once.
class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return c10::kCUDA; }
  c10::Device exchangeDevice(c10::Device device) const override {
    c10::Device const old = getDevice();
    setDevice(device);
    return old;
  }
  c10::Device getDevice() const override { return {c10::kCUDA, current()}; }
  void setDevice(c10::Device device) const override {
    TORCH_CHECK(device.index() >= 0 && device.index() < device_count(),
                "CUDA error: invalid device ordinal");
    set_current_device(device.index());
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    set_current_device(device.index());
  }
  c10::Stream getStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::DEFAULT, device.has_index() ? device : getDevice());
  }
  c10::Stream getDefaultStream(c10::Device device) const override { return getStream(device); }
  c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
  /// Work is done at once: an event is a time.
  void record(void** event, c10::Stream const& /*stream*/, c10::DeviceIndex /*device*/,
              c10::EventFlag /*flag*/) const override {
    if (*event == nullptr) *event = new Clock::time_point;
    *static_cast<Clock::time_point*>(*event) = Clock::now();
  }
  void destroyEvent(void* event, c10::DeviceIndex /*device*/) const noexcept override {
    delete static_cast<Clock::time_point*>(event);
  }
  double elapsedTime(void* first, void* second, c10::DeviceIndex /*device*/) const override {
    return std::chrono::duration<double, std::milli>(*static_cast<Clock::time_point*>(second) -
                                                     *static_cast<Clock::time_point*>(first))
        .count();
  }
  void block(void* /*event*/, c10::Stream const& /*stream*/) const override {}
  bool queryEvent(void* /*event*/) const override { return true; }
  c10::DeviceIndex deviceCount() const noexcept override {
    return static_cast<c10::DeviceIndex>(device_count());
  }
  bool queryStream(c10::Stream const& /*stream*/) const override { return true; }
  void synchronizeStream(c10::Stream const& /*stream*/) const override {}
  void synchronizeEvent(void* /*event*/) const override {}
  void synchronizeDevice(c10::DeviceIndex /*device*/) const override {}
};
C10_REGISTER_GUARD_IMPL(CUDA, Guard)

// The name is the key by which torch finds it.
struct CUDAHooks final : at::CUDAHooksInterface {
  explicit CUDAHooks(at::CUDAHooksArgs /*unused*/) {}
  void init() const override {}
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return device_count() > 0; }
  bool hasCUDA() const override { return device_count() > 0; }
  bool hasCUDART() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex /*device*/) const override { return true; }
  c10::DeviceIndex current_device() const override { return current(); }
  c10::DeviceIndex deviceCount() const override { return getNumGPUs(); }
  c10::DeviceIndex getCurrentDevice() const override { return current(); }
  int getNumGPUs() const override { return device_count(); }
  std::string showConfig() const override { return "emulated\n"; }
  at::Generator const& getDefaultGenerator(c10::DeviceIndex /*device*/) const override {
    static at::Generator const generator = at::detail::createCPUGenerator();
    return generator;
  }
  c10::Allocator* getPinnedMemoryAllocator() const override { return c10::GetCPUAllocator(); }
  bool isPinnedPtr(void const* data) const override { return device_of(data) < 0; }
};

}  // namespace
}  // namespace voxcycle::emulated_gpu

namespace at {
using CUDAHooks = voxcycle::emulated_gpu::CUDAHooks;
REGISTER_CUDA_HOOKS(CUDAHooks)
}  // namespace at
