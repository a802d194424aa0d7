// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/cli/command.hpp"
#include "voxcycle/comm/space.hpp"

#include "cli/solve_report.hpp"
#include <ATen/core/Tensor.h>

namespace voxcycle {

/// The report, and the files of solve: --out, --png and --json, where they are given; the first
/// process writes them. **Collective**. @param nu  [planes, ny, nz] of the part
void write_results(Invocation const& call, SolveReport& report, Space const& space,
                   at::Tensor const& nu);

}  // namespace voxcycle
