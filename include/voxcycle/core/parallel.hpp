// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>

namespace voxcycle {

/// Runs body(begin, end) over disjoint ranges that cover 0 .. count, on torch's own threads
/// (at::set_num_threads). Serial inside another parallel region. Where ranges begin and end depends
/// on the number of threads: a body must compute the same whichever range an index falls in.
///
/// @param work  values touched an index: ranges are long enough to be worth a thread's waking
///
/// at::parallel_for itself is a template that is serial in code compiled without -fopenmp, as ours
/// is; this goes through TensorIterator, whose compiled code in libtorch is parallel.
void parallel_for(std::int64_t count, std::int64_t work,
                  std::function<void(std::int64_t begin, std::int64_t end)> const& body);

}  // namespace voxcycle
