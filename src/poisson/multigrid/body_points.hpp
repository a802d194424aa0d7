// SPDX-License-Identifier: BSD-3-Clause
// Sums over the nodes of conducting bodies, and what is added to them (deflation.hpp), element by
// element (core/element_job.hpp), on CPUs and GPUs with the same bits.
#pragma once

#include "voxcycle/core/element_job.hpp"

#include <cstdint>
#include <tuple>

namespace voxcycle {

/// sums_i = sum of the field over run i.
struct RunSumJob {
  std::int64_t const *first, *end;  ///< of the runs' nodes
  double const* field;
  double* sums;

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    double sum = 0.0;
    for (std::int64_t node = first[i]; node < end[i]; ++node) sum += field[node];
    sums[i] = sum;
  }
};

/// sums_i = sum of parts begin[i] to begin[i + 1]: of chunks over runs, of bodies over chunks.
struct PartSumJob {
  std::int64_t const* begin;  ///< one more than there are sums
  double const* parts;
  double* sums;

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    double sum = 0.0;
    for (std::int64_t part = begin[i]; part < begin[i + 1]; ++part) sum += parts[part];
    sums[i] = sum;
  }
};

/// Adds the value of its body to the field at the nodes of run i.
struct RunAddJob {
  std::int64_t const *first, *end, *body;
  double const* values;  ///< [bodies]
  double* field;

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    double const value = values[body[i]];
    for (std::int64_t node = first[i]; node < end[i]; ++node) field[node] += value;
  }
};

using BodyJobs = std::tuple<RunSumJob, PartSumJob, RunAddJob>;

}  // namespace voxcycle
