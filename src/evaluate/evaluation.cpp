// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/evaluate/evaluation.hpp"

#include "voxcycle/core/json.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>

#include <ATen/ATen.h>

namespace voxcycle {

Evaluation evaluation_of(HeldOutErrors const& errors, HeldOutSamples const& samples,
                         HeldOutOptions const& options) {
  Evaluation result;
  result.grid = samples.grid.label();
  result.precision = precision_name(options.dtype);
  auto const* rel_l2 = errors.rel_l2.const_data_ptr<double>();
  auto const* gap = errors.energy_gap.const_data_ptr<double>();
  auto const* norm = errors.energy_norm_error.const_data_ptr<double>();
  for (std::int64_t k = 0; k < errors.rel_l2.numel(); ++k) {
    result.samples.push_back({k, rel_l2[k], gap[k], norm[k]});
  }
  auto const means = means_of(errors);
  result.rel_l2_mean = means.rel_l2;
  result.rel_l2_max = errors.rel_l2.max().item<double>();
  result.energy_gap_mean = means.energy_gap;
  result.energy_norm_error_mean = means.energy_norm_error;
  return result;
}

Evaluation evaluate_network(ProcessGrid const& all, Network& network, HeldOutSamples const& samples,
                            HeldOutOptions const& options) {
  return evaluation_of(evaluate_held_out(all, network, samples, options), samples, options);
}

std::vector<SampleErrors> worst_first(std::vector<SampleErrors> samples) {
  std::stable_sort(samples.begin(), samples.end(),
                   [](auto const& a, auto const& b) { return badness(a) > badness(b); });
  return samples;
}

std::string evaluation_table(Evaluation const& e, std::size_t maximum) {
  auto const sorted = worst_first(e.samples);
  std::string text =
      format("%-9s %14s %14s %18s\n", "sample", "relative L2", "energy gap", "energy-norm error");
  auto const line = [&](std::string const& name, double l2, double gap, double norm) {
    text += format("%-9s %14s %14s %18s\n", name.c_str(), format_percent(l2).c_str(),
                   format_percent(gap).c_str(), format_percent(norm).c_str());
  };
  for (std::size_t k = 0; k < std::min(maximum, sorted.size()); ++k) {
    line(std::to_string(sorted[k].index), sorted[k].rel_l2, sorted[k].energy_gap,
         sorted[k].energy_norm_error);
  }
  if (sorted.size() > maximum) text += format("... %zu more\n", sorted.size() - maximum);
  line("mean", e.rel_l2_mean, e.energy_gap_mean, e.energy_norm_error_mean);
  if (auto const& before = e.untrained) {
    line("untrained", before->rel_l2, before->energy_gap, before->energy_norm_error);
  }
  return text;
}

std::string evaluation_csv(Evaluation const& e) {
  std::string text = "index,rel_l2,energy_gap,energy_norm_error\n";
  for (auto const& s : e.samples) {
    text += format("%ld,%.9g,%.9g,%.9g\n", static_cast<long>(s.index), s.rel_l2, s.energy_gap,
                   s.energy_norm_error);
  }
  return text;
}

std::string evaluation_json(Evaluation const& e) {
  auto samples = Json::array();
  for (auto const& s : e.samples) {
    samples.push_back(Json::object({{"index", s.index},
                                    {"rel_l2", s.rel_l2},
                                    {"energy_gap", s.energy_gap},
                                    {"energy_norm_error", s.energy_norm_error}}));
  }
  auto members = Json::object({{"samples", e.samples.size()},
                               {"split", e.split},
                               {"grid", e.grid},
                               {"precision", e.precision},
                               {"weights", e.weights},
                               {"rel_l2_mean", e.rel_l2_mean},
                               {"rel_l2_max", e.rel_l2_max},
                               {"energy_gap_mean", e.energy_gap_mean},
                               {"energy_norm_error_mean", e.energy_norm_error_mean},
                               {"per_sample", samples}});
  if (auto const& before = e.untrained) {
    members["untrained"] = Json::object({{"rel_l2_mean", before->rel_l2},
                                         {"energy_gap_mean", before->energy_gap},
                                         {"energy_norm_error_mean", before->energy_norm_error}});
  }
  if (e.comparison) members["compare"] = comparison_json(*e.comparison);
  return document(members);
}

}  // namespace voxcycle
