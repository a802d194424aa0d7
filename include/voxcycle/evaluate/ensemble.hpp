// SPDX-License-Identifier: BSD-3-Clause
// What the members of an ensemble are worth together: their mean, and their spread as a sign of its
// error.
#pragma once

#include "voxcycle/evaluate/evaluation.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace voxcycle {

/// Errors of the members on held-out samples and, where they solve the same problem, of their mean.
struct EnsembleEvaluation {
  std::vector<Evaluation> members;  ///< in the order of their numbers
  std::optional<Evaluation> mean;   ///< of the mean of their solutions; none: why_no_mean says why
  std::vector<double> spread;       ///< a sample: see MemberSpread::relative
  std::string why_no_mean;
};

/// All members on the same samples. **Collective**. Each rank reads the samples that it works on.
EnsembleEvaluation evaluate_ensemble(Communicator const& comm,
                                     std::vector<std::shared_ptr<Network>> const& networks,
                                     HeldOutSamples const& samples, HeldOutOptions const& options);

/// The figures that the verdict rests on; all but the first NaN without a mean.
struct EnsembleFigures {
  double members_error;      ///< energy-norm error, mean over members and samples
  double best_error;         ///< of the member with the least
  std::size_t best;          ///< that one, from 0
  double over_members;       ///< the mean's error / members_error
  double over_best;          ///< the mean's error / best_error
  double spread;             ///< mean over samples
  double rank_correlation;   ///< of spread and relative L2 error of the mean, over samples
  double spread_over_error;  ///< the same two, ratio of their root mean squares
};
EnsembleFigures figures_of(EnsembleEvaluation const& ensemble);

/// Whether the mean is worth the cost of all members, and what the spread tells, in sentences.
std::vector<std::string> verdict(EnsembleEvaluation const& ensemble);

/// A line a member and one of the mean, then the verdict.
std::string ensemble_table(EnsembleEvaluation const& ensemble);
/// "member,index,rel_l2,energy_gap,energy_norm_error,spread"; member is a number, or "mean".
std::string ensemble_csv(EnsembleEvaluation const& ensemble);
/// split, precision, members, mean (null without), per_sample of the mean, the figures, verdict.
std::string ensemble_json(EnsembleEvaluation const& ensemble);
/// @return one self-contained HTML page
/// @param summary  what was run: name, value
/// @param config   shown folded
std::string render_ensemble(EnsembleEvaluation const& ensemble, std::string const& title,
                            std::vector<std::pair<std::string, std::string>> const& summary,
                            std::string const& config);

}  // namespace voxcycle
