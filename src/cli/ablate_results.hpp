// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/evaluate/study.hpp"

#include "cli/ablate_plan.hpp"

namespace voxcycle {

/// What the run's directory holds, without spectra.
StudyRun read_run(PlannedRun const& planned);

}  // namespace voxcycle
