// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/json.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace voxcycle {

/// One way to a solution, over the compared samples. Errors are fractions, against the references.
struct ComparedMethod {
  std::string key;   ///< in files, e.g. "pcg_from_lift"
  std::string name;  ///< for people
  double rel_l2_mean = 0.0;
  double rel_l2_max = 0.0;
  double energy_norm_error_mean = 0.0;
  double energy_norm_error_max = 0.0;
  double seconds = 0.0;        ///< wall time a sample, median: all that it takes from nu on
  double setup_seconds = 0.0;  ///< of these, the multigrid hierarchy's making, median
  double iterations = 0.0;     ///< of conjugate gradients, mean; 0 where there are none
  bool classical = false;      ///< no network takes part
  bool converged = true;       ///< on every sample; false only for conjugate gradients
};

/// Error against time of the network, of classical solvers and of both together.
struct Comparison {
  std::string grid;
  std::int64_t samples = 0;
  std::int64_t batch = 1;  ///< samples at once in the row "network_batched"
  int threads = 1;
  std::string device = "the CPU";  ///< or, e.g., "GPU 0 (NVIDIA H100)"
  double tolerance = 0.0;          ///< relative residual that conjugate gradients were asked for
  std::vector<ComparedMethod> methods;
};

/// The methods that no other one beats in both time and mean energy-norm error; an entry a method.
std::vector<bool> undominated(Comparison const& comparison);

/// What the figures say, in sentences: where the network wins, and where classical solvers do.
std::vector<std::string> verdict(Comparison const& comparison);

/// For a terminal: one line a method, then the verdict.
std::string comparison_table(Comparison const& comparison);
/// One line a method, with a header.
std::string comparison_csv(Comparison const& comparison);
/// {"grid", "samples", "batch", "threads", "device", "tolerance", "methods": [{...}], "verdict":
/// [...]}
Json comparison_json(Comparison const& comparison);
/// A section of the report, HTML.
std::string comparison_section(Comparison const& comparison);

}  // namespace voxcycle
