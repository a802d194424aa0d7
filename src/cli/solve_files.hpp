// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/cli/command.hpp"

#include "cli/solve_report.hpp"
#include <ATen/core/Tensor.h>

namespace voxcycle {

/// The files of solve: --out, --png and --json, where they are given; says so.
void write_files(Invocation const& call, SolveReport& report, at::Tensor const& nu);

}  // namespace voxcycle
