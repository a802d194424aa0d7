// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/cli/command.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace voxcycle {

/// The number of --name, or `otherwise`. @throws Error if it is not positive.
std::int64_t bench_number(Invocation const& call, std::string const& name, std::int64_t otherwise);

/// Prints the line on rank 0 and writes it to --json. @return 0
int bench_report(Invocation const& call, std::string const& json);

double median(std::vector<double> values);

/// voxcycle bench energy: the fused kernel against a copy of the same bytes, on the CPU or a GPU.
int bench_energy(Invocation const& call);

/// voxcycle bench reference: iterations, seconds and cost in applications of K of multigrid PCG on
/// smooth and rough fields.
int bench_reference(Invocation const& call);

}  // namespace voxcycle
