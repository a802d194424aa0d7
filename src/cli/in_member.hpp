// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/error.hpp"
#include "voxcycle/study/ensemble_plan.hpp"

namespace voxcycle {

/// Does `work`, whose errors then name the member of the ensemble.
template <class Work>
void in_member(PlannedRun const& run, Work const& work) {
  try {
    work();
  } catch (Error& problem) {
    problem.prepend(run.label + ": ");
    throw;
  }
}

}  // namespace voxcycle
