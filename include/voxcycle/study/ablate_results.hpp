// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/study/ablate_plan.hpp"
#include "voxcycle/study/study.hpp"

namespace voxcycle {

/// What the run's directory holds, without spectra.
StudyRun read_run(PlannedRun const& planned);

}  // namespace voxcycle
