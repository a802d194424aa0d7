// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace voxcycle {

/// Exit status of work that was stopped and can go on (EX_TEMPFAIL of sysexits.h): what a script
/// does next must not take it for done.
constexpr int kStopped = 75;
/// Exit status of a job that was ended because one of its processes stood still (as timeout's).
constexpr int kStoodStill = 124;
/// What is said of a stop that left nothing new to go on from; the exit status is 1 then.
constexpr char const* kNothingGained =
    "stopped before a step or an evaluation was done: nothing was gained. The same command goes "
    "on; as a batch job, give it more time or processes.";

}  // namespace voxcycle
