// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/evaluate/ensemble.hpp"

#include "voxcycle/core/text.hpp"
#include "voxcycle/evaluate/rank_correlation.hpp"
#include "voxcycle/grid/micro_batches.hpp"
#include "voxcycle/network/predict.hpp"
#include "voxcycle/poisson/errors.hpp"
#include "voxcycle/solver/member_spread.hpp"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double root_mean_square(std::vector<double> const& values) {
  double sum = 0.0;
  for (double const value : values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

std::vector<double> errors_of(Evaluation const& evaluation) {
  std::vector<double> errors;
  for (auto const& sample : evaluation.samples) errors.push_back(sample.rel_l2);
  return errors;
}

}  // namespace

EnsembleEvaluation evaluate_ensemble(Communicator const& comm,
                                     std::vector<std::shared_ptr<Network>> const& networks,
                                     HeldOutSamples const& samples, HeldOutOptions const& options) {
  at::NoGradGuard const no_grad;
  auto const count = static_cast<std::int64_t>(networks.size());
  // Each entry is written by one rank and zero elsewhere, so that the float sum is exact. The last
  // errors are the mean's.
  at::Tensor errors = at::zeros({count + 1, 3, samples.count}, at::kDouble);
  at::Tensor spread = at::zeros({samples.count}, at::kDouble);
  auto const micro_batches =
      micro_batches_of_rank(samples.count, options.micro_batch_size, comm.size(), comm.rank());
  double done = 0;
  for (auto const& part : micro_batches) {
    HeldOutSet const set = samples.read(part.begin, part.end);
    std::vector<at::Tensor> fields;
    for (auto const& network : networks) {
      fields.push_back(predict(comm, *network, set.grid, set.nu, set.f, options.dtype));
    }
    auto const together = spread_of_members(fields);
    fields.push_back(together.mean);
    spread.narrow(0, part.begin, part.size()).copy_(together.relative());
    at::Device const device = together.mean.device();
    at::Tensor const u_ref = set.u_ref.to(device), nu = set.nu.to(device);
    for (std::int64_t k = 0; k <= count; ++k) {
      auto const of_field = field_errors(fields[static_cast<std::size_t>(k)], u_ref, nu, set.grid);
      auto const rows = errors[k].narrow(1, part.begin, part.size());
      rows[0].copy_(of_field.rel_l2);
      rows[1].copy_(of_field.energy_gap);
      rows[2].copy_(of_field.energy_norm_error);
    }
    if (options.after_share) {
      options.after_share(++done / static_cast<double>(micro_batches.size()));
    }
  }
  comm.all_reduce(errors, ReduceOperation::sum);
  comm.all_reduce(spread, ReduceOperation::sum);
  auto const evaluation = [&](std::int64_t k) {
    return evaluation_of({errors[k][0], errors[k][1], errors[k][2]}, samples, options);
  };
  EnsembleEvaluation result;
  for (std::int64_t k = 0; k < count; ++k) result.members.push_back(evaluation(k));
  result.mean = evaluation(count);
  auto const* const values = spread.const_data_ptr<double>();
  result.spread.assign(values, values + samples.count);
  return result;
}

EnsembleFigures figures_of(EnsembleEvaluation const& e) {
  EnsembleFigures f{0.0, std::numeric_limits<double>::infinity(), 0, kNan, kNan, kNan, kNan, kNan};
  for (std::size_t k = 0; k < e.members.size(); ++k) {
    double const error = e.members[k].energy_norm_error_mean;
    f.members_error += error / static_cast<double>(e.members.size());
    if (!(error < f.best_error)) continue;
    f.best_error = error;
    f.best = k;
  }
  if (!e.mean) return f;
  auto const errors = errors_of(*e.mean);
  f.over_members = e.mean->energy_norm_error_mean / f.members_error;
  f.over_best = e.mean->energy_norm_error_mean / f.best_error;
  f.spread = 0.0;
  for (double const value : e.spread) f.spread += value / static_cast<double>(e.spread.size());
  f.rank_correlation = rank_correlation(e.spread, errors);
  f.spread_over_error = root_mean_square(e.spread) / root_mean_square(errors);
  return f;
}

std::vector<std::string> verdict(EnsembleEvaluation const& e) {
  if (!e.mean) return {e.why_no_mean};
  auto const f = figures_of(e);
  auto const count = e.members.size();
  std::vector<std::string> sentences;
  sentences.push_back(
      format("The mean of %zu members leaves %s of the members' mean energy-norm error, and %s of "
             "that of member %zu, the best (errors that have nothing in common would leave %s).",
             count, format_percent(f.over_members).c_str(), format_percent(f.over_best).c_str(),
             f.best + 1, format_percent(1.0 / std::sqrt(static_cast<double>(count))).c_str()));
  sentences.push_back(
      f.over_best < 1.0
          ? format("It is closer than each of them, and so worth %zu times the cost where one "
                   "training of that cost would not be as close.",
                   count)
          : format("It is not worth %zu times the cost: member %zu alone is as close.", count,
                   f.best + 1));
  if (std::isfinite(f.rank_correlation)) {
    sentences.push_back(
        format("Spread and error of the mean have the rank correlation %.2f over %zu samples; the "
               "spread is %.2g times the error (root mean squares).",
               f.rank_correlation, e.spread.size(), f.spread_over_error));
  }
  return sentences;
}

}  // namespace voxcycle
