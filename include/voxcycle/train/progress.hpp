// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/train/run_record.hpp"

#include <cstdint>
#include <string>

namespace voxcycle {

/// What the progress line shows.
struct ProgressState {
  int stage = 0;  ///< from 0
  int stages = 1;
  std::string grid;
  std::int64_t step = 0;   ///< done in this stage
  std::int64_t steps = 1;  ///< of this stage, 0: as many as its time allows
  double done = 0.0;       ///< share of the run's time, in [0, 1]
  double left = std::numeric_limits<double>::quiet_NaN();  ///< seconds of the run; NaN: unknown
  double loss = 0.0;
  double energy_gap = 0.0;  ///< last held-out figure, NaN before the first
  double rate = 0.0;
  double step_seconds = 0.0;  ///< recent mean
  std::int64_t samples = 1;   ///< gone through in a step, all passes counted
  SearchFigures search{};     ///< shown instead of the rate where known
};

/// e.g. "12 %  left 39 s  stage 2/4  16^3  step 120/2000  gap 0.23 %  loss 0.61200  rate 1.2e-03
/// 21 ms/step  381 samples/s", or for L-BFGS "... loss 0.61200  gradient 1.2e-03  length 1  2
/// evaluations  0 pairs skipped  ..."
std::string progress_text(ProgressState const& state);

}  // namespace voxcycle
