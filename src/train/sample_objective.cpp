// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/sample_objective.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/stop_signal.hpp"
#include "voxcycle/core/timer.hpp"
#include "voxcycle/grid/micro_batches.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <ATen/ATen.h>

namespace voxcycle {

SamplePlan SamplePlan::of(LbfgsStageOptions const& options, LevelPlan const& plan,
                          std::int64_t available) {
  std::string const where = "stages of " + plan.grid.label();
  VOXCYCLE_REQUIRE(options.samples <= available,
                   "lbfgs.samples = " << options.samples << ", but there are " << available
                                      << " training samples for " << where
                                      << ". Lower it, or raise data.train_samples.");
  if (options.batch == 0) {
    return {options.samples > 0 ? options.samples : available, 0, plan.batch};
  }
  VOXCYCLE_REQUIRE(options.samples == 0,
                   "lbfgs.samples and lbfgs.batch exclude each other (a fixed set, or batches that "
                   "go through all samples). Set one of them.");
  VOXCYCLE_REQUIRE(options.batch % plan.batch == 0 && options.batch >= 2 * plan.batch &&
                       options.batch <= available,
                   "lbfgs.batch = " << options.batch << " does not fit cycle.batch = " << plan.batch
                                    << " and the " << available << " training samples for " << where
                                    << ". Give a multiple of cycle.batch, twice it or more.");
  std::int64_t const parts = options.batch / plan.batch;
  auto const shared =
      static_cast<std::int64_t>(std::lround(options.overlap * static_cast<double>(parts)));
  return {options.batch, std::clamp<std::int64_t>(shared, 1, parts - 1) * plan.batch, plan.batch};
}

SampleObjective::SampleObjective(BatchContext const& context, FlatParameters const& parameters,
                                 SamplePlan const& plan, Statistics statistics, Open open,
                                 StopWanted stop_wanted)
    : context_(context),
      parameters_(parameters),
      plan_(plan),
      statistics_(statistics),
      open_(std::move(open)),
      stop_wanted_(std::move(stop_wanted)) {}

double SampleObjective::context(std::int64_t number, bool training, Take const& take) {
  std::int64_t const first = plan_.first(number);
  if (prefetch_ == nullptr || first != first_) {
    prefetch_.reset();
    prefetch_ = open_(first, plan_.samples);
    first_ = first;
  }
  double sum = 0.0;
  std::int64_t const batches = micro_batch_count(plan_.samples, plan_.batch);
  for (std::int64_t k = 0; k < batches; ++k) {
    if (stop_wanted_ && stop_wanted_()) {
      prefetch_.reset();  // in the middle of the samples
      throw StopRequested();
    }
    Timer const timer;
    LocalBatch const batch = prefetch_->next();
    times_.data += timer.seconds();
    if (!std::isfinite(sum)) continue;  // read on, so that the next pass begins at its beginning
    std::int64_t const begin = k * plan_.batch;
    std::int64_t const end = std::min(plan_.samples, begin + plan_.batch);
    BatchOptions const options{
        .samples = end - begin,
        .gradient = static_cast<bool>(take),
        .training = training,
        .statistics_weight = static_cast<double>(end - begin) / static_cast<double>(end)};
    BatchResult result;
    try {
      result = batch_gradient(context_, batch, options);
    } catch (NotFiniteGradient const&) {  // on all ranks: as bad as the loss itself
      result.loss = std::numeric_limits<double>::quiet_NaN();
    }
    times_ += result.times;
    samples_seen_ += end - begin;
    sum += result.loss * static_cast<double>(end - begin);
    if (std::isfinite(sum) && take) take(parameters_.gradient(), begin, end);
  }
  return sum / static_cast<double>(plan_.samples);
}

ObjectiveValue SampleObjective::evaluate(at::Tensor const& x) {
  auto const all = evaluate(0, x);
  return {all.value, all.gradient};
}

BatchEvaluation SampleObjective::evaluate(std::int64_t number, at::Tensor const& x) {
  parameters_.set_values(x);
  BatchEvaluation result;
  result.gradient = at::zeros({size()}, at::kDouble);
  if (plan_.iterates_batches()) {
    result.before = at::zeros({size()}, at::kDouble);
    result.after = at::zeros({size()}, at::kDouble);
  }
  auto const share = [](std::int64_t part, std::int64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  };
  result.value = context(number, statistics_ == Statistics::batch,
                         [&](at::Tensor const& gradient, std::int64_t begin, std::int64_t end) {
                           result.gradient.add_(gradient, share(end - begin, plan_.samples));
                           if (!plan_.iterates_batches()) return;
                           double const of_shared = share(end - begin, plan_.overlap);
                           if (end <= plan_.overlap) result.before.add_(gradient, of_shared);
                           if (begin >= plan_.samples - plan_.overlap) {
                             result.after.add_(gradient, of_shared);
                           }
                         });
  if (!std::isfinite(result.value)) result.gradient = at::Tensor();
  return result;
}

double SampleObjective::value(std::int64_t number, at::Tensor const& x) {
  parameters_.set_values(x);
  return context(number, statistics_ == Statistics::batch, {});
}

at::Tensor SampleObjective::second_moments(std::int64_t number) {
  at::Tensor sum = at::zeros({size()}, at::kDouble);
  double const value =
      context(number, statistics_ == Statistics::batch,
              [&](at::Tensor const& gradient, std::int64_t begin, std::int64_t end) {
                sum.addcmul_(gradient, gradient, static_cast<double>(end - begin));
              });
  VOXCYCLE_REQUIRE(
      std::isfinite(value),
      "L-BFGS: the loss at the start is not finite. Train with a first-order optimiser "
      "first, at a lower rate.");
  return sum.div_(static_cast<double>(plan_.samples));
}

void SampleObjective::freeze_statistics(std::int64_t number) {
  context(number, /*training=*/true, {});
}

}  // namespace voxcycle
