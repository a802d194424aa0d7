// SPDX-License-Identifier: BSD-3-Clause
#include "bench/step_profile.hpp"

#include "voxcycle/core/device_timer.hpp"
#include "voxcycle/core/error.hpp"

#include <cstdlib>
#include <filesystem>
#include <set>
#include <unordered_set>
#include <vector>

#include <torch/csrc/autograd/profiler_kineto.h>

namespace voxcycle {
namespace {

using torch::autograd::profiler::KinetoEvent;
using torch::profiler::impl::ActivityType;
using Events = std::vector<KinetoEvent>;

double seconds_of(KinetoEvent const& event) {
  return 1e-9 * static_cast<double>(event.durationNs());
}

bool contains(std::string const& text, char const* part) {
  return text.find(part) != std::string::npos;
}

/// Whoever asks for a convolution ends in one of these, and no other operator of ours asks for it.
double convolutions_on_cpu(Events const& events) {
  double seconds = 0.0;
  for (auto const& event : events) {
    auto const name = event.name();
    if (name == "aten::convolution" || name == "aten::convolution_backward") {
      seconds += seconds_of(event);
    }
  }
  return seconds;
}

/// Kernels and copies bear the number of the operator that launched them.
void add_gpu_times(Events const& events, Profile& profile) {
  // Calls of the CUDA runtime are among the events of the CPU and have numbers of another count.
  std::unordered_set<std::uint64_t> convolutions;
  for (auto const& event : events) {
    if (event.deviceType() == c10::kCPU && contains(event.name(), "convolution")) {
      convolutions.insert(event.correlationId());
    }
  }
  double busy = 0.0;
  for (auto const& event : events) {
    if (event.deviceType() != c10::kCUDA) continue;
    auto const name = event.name();
    double const seconds = seconds_of(event);
    busy += seconds;
    if (convolutions.count(event.linkedCorrelationId()) > 0) {
      profile.convolutions += seconds;
    } else if (contains(name, "voxcycle")) {
      profile.own_kernels += seconds;
    } else if (contains(name, "Memcpy")) {
      profile.copies += seconds;
    }
  }
  VOXCYCLE_REQUIRE(
      busy > 0.0,
      "--profile: the profiler saw nothing of the GPU. Its counters may be for "
      "administrators alone (NVreg_RestrictProfilingToAdminUsers), or another profiler "
      "is at work.");
  profile.busy = busy;
}

}  // namespace

Profile profile_of(std::function<void()> const& work, at::Device device, std::string const& trace) {
  namespace profiler = torch::autograd::profiler;
  setenv("KINETO_LOG_LEVEL", "99", /*overwrite=*/0);  // it complains where there is no GPU
  std::set<ActivityType> activities{ActivityType::CPU};
  if (device.is_cuda()) activities.insert(ActivityType::CUDA);
  torch::profiler::impl::ProfilerConfig const config(torch::profiler::impl::ProfilerState::KINETO);
  profiler::prepareProfiler(config, activities);
  profiler::enableProfiler(config, activities);
  DeviceTimer const timer(device.index());
  work();
  Profile profile;
  profile.seconds = timer.seconds();
  auto const result = profiler::disableProfiler();
  if (device.is_cuda()) {
    add_gpu_times(result->events(), profile);
    profile.busy /= profile.seconds;
  } else {
    profile.convolutions = convolutions_on_cpu(result->events());
  }
  for (double* part : {&profile.convolutions, &profile.own_kernels, &profile.copies}) {
    *part /= profile.seconds;
  }
  result->save(trace);
  VOXCYCLE_REQUIRE(std::filesystem::exists(trace),
                   "--profile: " << trace
                                 << " could not be written. Name a file in a directory "
                                    "that is there.");
  return profile;
}

}  // namespace voxcycle
