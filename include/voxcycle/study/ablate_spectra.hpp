// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/study/ablate_plan.hpp"
#include "voxcycle/study/study.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace voxcycle {

/// Spectra of the error after each stage whose weights the run kept (<run>/stages/NN.h5), on the
/// run's finest grid, means over the first `samples` held-out samples. Each is kept beside its
/// weights as NN.spectrum and computed only once.
/// @throws Error if the held-out data or the weights do not fit the config.
std::vector<StageSpectrum> spectra_of_run(PlannedRun const& run, std::int64_t samples,
                                          Communicator const& self);

}  // namespace voxcycle
