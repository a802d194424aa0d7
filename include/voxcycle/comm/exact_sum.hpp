// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Sums that have the same bits however the terms are spread over ranks.
///
/// Each column is scaled by the power of two that its largest magnitude over all ranks asks for (an
/// exact max-reduction), cut into two 62-bit integers, and summed as integers: integer addition is
/// associative, so neither the number of ranks nor the algorithm of the reduction can change a bit.
/// Terms keep about 110 bits below the largest magnitude of their column; the result is rounded
/// once.
///
/// @param terms        [local terms, n] float64; a rank may have none ([0, n]). On a GPU they are
///                     summed there, with the bits of the CPU, and the host waits for nothing
/// @param total_terms  upper bound on the number of terms of all ranks, the same on each
/// @return [n] float64 where the terms are, equal on all ranks. A column with a non-finite term is
///         NaN. **Collective**.
/// @throws Error if total_terms exceeds 2^20 or, on the CPU, a sum exceeds the range of float64;
///         on a GPU it is infinite.
at::Tensor exact_sum(Communicator const& comm, at::Tensor const& terms, std::int64_t total_terms);

}  // namespace voxcycle
