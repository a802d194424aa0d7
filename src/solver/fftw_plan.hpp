// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/error.hpp"

#include <mutex>
#include <utility>

#include <fftw3.h>

namespace voxcycle {

/// Owns an in-place real-to-real FFTW plan of many transforms of one length. Making and destroying
/// plans is guarded by one mutex (FFTW's planner is not thread-safe); running one is not, and needs
/// no alignment.
class FftwPlan {
 public:
  FftwPlan() = default;

  /// `many` transforms of n values `stride` apart, each beginning `distance` after the last.
  FftwPlan(fftw_r2r_kind kind, int n, int stride, int many, int distance) {
    std::lock_guard const lock(planner());
    // FFTW_ESTIMATE: no timings, so the same algorithm and the same bits in every run.
    double* const nowhere = nullptr;
    plan_ = fftw_plan_many_r2r(1, &n, many, nowhere, nullptr, stride, distance, nowhere, nullptr,
                               stride, distance, &kind, FFTW_ESTIMATE | FFTW_UNALIGNED);
    VOXCYCLE_REQUIRE(plan_ != nullptr,
                     "FFTW cannot plan a transform of length " << n << ". Check how it was built.");
  }
  ~FftwPlan() {
    if (plan_ != nullptr) {
      std::lock_guard const lock(planner());
      fftw_destroy_plan(plan_);
    }
  }
  FftwPlan(FftwPlan&& other) noexcept : plan_(std::exchange(other.plan_, nullptr)) {}
  FftwPlan& operator=(FftwPlan&& other) noexcept {
    std::swap(plan_, other.plan_);
    return *this;
  }

  void run(double* values) const { fftw_execute_r2r(plan_, values, values); }

 private:
  static std::mutex& planner() {
    static std::mutex mutex;
    return mutex;
  }

  fftw_plan plan_ = nullptr;
};

}  // namespace voxcycle
