// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/process_grid.hpp"
#include "voxcycle/dataset/held_out.hpp"
#include "voxcycle/evaluate/gain.hpp"
#include "voxcycle/evaluate/report.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/train/held_out.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace voxcycle {

/// Errors of a network on a held-out set.
struct Evaluation {
  std::string grid;
  std::string precision;  ///< of convolutions and activations: bf16, f16, f32 or f64
  std::string weights;    ///< their file, in the run directory or a path
  std::string split;      ///< of the samples: held_out, train
  std::vector<SampleErrors> samples;
  double rel_l2_mean = 0.0;
  double rel_l2_max = 0.0;
  double energy_gap_mean = 0.0;
  double energy_norm_error_mean = 0.0;
  std::optional<MeanErrors> untrained;   ///< of the weights before training, where known
  std::optional<Comparison> comparison;  ///< with classical solvers, if measured
};

/// What the errors of all samples say together.
Evaluation evaluation_of(HeldOutErrors const& errors, HeldOutSamples const& samples,
                         HeldOutOptions const& options);

/// **Collective**. Each rank reads the samples that it works on, or its planes of them.
Evaluation evaluate_network(ProcessGrid const& all, Network& network, HeldOutSamples const& samples,
                            HeldOutOptions const& options);

/// @return the samples by falling badness.
std::vector<SampleErrors> worst_first(std::vector<SampleErrors> samples);

/// For a terminal: one line a sample (at most `most`, worst first), the means and those before
/// training.
std::string evaluation_table(Evaluation const& evaluation, std::size_t maximum);
/// "index,rel_l2,energy_gap,energy_norm_error", one line a sample.
std::string evaluation_csv(Evaluation const& evaluation);
/// samples, split, grid, precision, weights, rel_l2_mean, rel_l2_max, energy_gap_mean,
/// energy_norm_error_mean, per_sample and, where known, untrained (the same three means) and
/// compare (comparison_json).
std::string evaluation_json(Evaluation const& evaluation);

/// Slices (middle plane in z) of nu, the network's solution, the reference and their difference for
/// the worst and the median sample. @param dtype  of the network's convolutions
/// **Collective** over the first group of processes, whose ranks have the samples' planes.
std::vector<SamplePictures> pictures_of_samples(ProcessGrid const& all, Network& network,
                                                HeldOutSamples const& samples,
                                                Evaluation const& evaluation, at::ScalarType dtype);

}  // namespace voxcycle
