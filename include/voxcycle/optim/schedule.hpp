// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace voxcycle {

/// How the rate falls over a stage.
enum class Decay {
  cosine,       ///< (1 + cos(pi progress)) / 2
  exponential,  ///< 100^-progress: equal steps have equal factors
  linear,       ///< 1 - progress
  none,         ///< 1
};

/// How rates follow the number of workers (processes).
enum class RateScaling {
  none,    ///< 1
  sqrt,    ///< sqrt(workers): keeps the noise of the weights' motion (Krizhevsky 2014)
  linear,  ///< workers (Goyal et al. 2017)
};

/// Factor of all rates of a run, warm-up included. @param workers  >= 1
double rate_scale(RateScaling scaling, int workers);

/// Rate of a step relative to the stage's peak rate, in [0, 1]: a linear warm-up times the decay.
/// @param progress    share of the stage's budget used before this step, [0, 1]
/// @param step_share  share of the budget that one step uses, > 0
/// @param warm_up     share of the budget with a rising rate, [0, 1); its steps rise from
///                    step_share / warm_up to 1
double scheduled_rate(Decay decay, double progress, double step_share, double warm_up);

}  // namespace voxcycle
