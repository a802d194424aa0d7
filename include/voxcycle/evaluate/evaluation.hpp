// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/dataset/prefetch.hpp"
#include "voxcycle/evaluate/report.hpp"
#include "voxcycle/network/network.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace voxcycle {

/// Errors of a network on a held-out set.
struct Evaluation {
  std::string grid;
  std::vector<SampleErrors> samples;
  double rel_l2_mean = 0.0;
  double rel_l2_max = 0.0;
  double energy_gap_mean = 0.0;
  double energy_norm_error_mean = 0.0;
};

/// **Collective**.
Evaluation evaluate_network(Communicator const& comm, Network& network, HeldOutSet const& set,
                            std::int64_t unit_size);

/// For a terminal: one line a sample (at most `most`, worst first) and the means.
std::string evaluation_table(Evaluation const& evaluation, std::size_t most);
/// "index,rel_l2,energy_gap,energy_norm_error", one line a sample.
std::string evaluation_csv(Evaluation const& evaluation);
/// samples, grid, rel_l2_mean, rel_l2_max, energy_gap_mean, energy_norm_error_mean, per_sample.
std::string evaluation_json(Evaluation const& evaluation);

/// Slices (middle plane in z) of nu, the network's solution, the reference and their difference for
/// the worst and the median sample of the set.
std::vector<SamplePictures> pictures_of_samples(Communicator const& comm, Network& network,
                                                HeldOutSet const& set,
                                                Evaluation const& evaluation);

}  // namespace voxcycle
