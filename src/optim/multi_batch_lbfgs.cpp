// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/optim/multi_batch_lbfgs.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <cmath>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

constexpr std::int64_t kMaxFailures = 3;

}  // namespace

MultiBatchLbfgs::MultiBatchLbfgs(Communicator const& comm, BatchObjective& objective,
                                 at::Tensor const& diagonal, LbfgsOptions const& options)
    : objective_(objective),
      options_(options),
      shares_(comm, objective.size()),
      history_(shares_, options.pairs, shares_.part(diagonal).clone(), options.history) {}

/// Evaluates the batch at x_ and learns from the samples that it shares with the last one.
BatchEvaluation MultiBatchLbfgs::look() {
  BatchEvaluation here = objective_.evaluate(number_, x_);
  ++report_.evaluations;
  VOXCYCLE_REQUIRE(std::isfinite(here.value),
                   "L-BFGS: the loss of batch " << number_ << " is not finite. Use larger batches "
                                                << "(lbfgs.batch), or a first-order optimiser.");
  if (number_ == 0) {
    ++report_.evaluations;
    double const again = objective_.value(number_, x_);
    VOXCYCLE_REQUIRE(again == here.value,
                     format("L-BFGS: two evaluations at the same point gave %.17g and %.17g (the "
                            "objective is no function: random layers, or other samples each "
                            "time). Use a first-order optimiser.",
                            here.value, again));
  }
  if (s_.defined()) {
    at::Tensor const y = (shares_.part(here.before) - after_).contiguous();
    if (!history_.add(s_, y)) ++report_.skipped;
    s_ = at::Tensor();  // an iteration that is given up and done again learns it once
  }
  return here;
}

/// Halves the step until the value falls. @return the value; x_ and s_ know the step
double MultiBatchLbfgs::search(Descent const& descent, double value) {
  at::Tensor const whole = shares_.gather(descent.d);
  double t = 1.0;
  for (int k = 0; descent.gradient < 0.0 && k < options_.search.max_evaluations; ++k) {
    at::Tensor const trial = x_.clone();
    add_scaled(trial, whole, t);
    double const there = objective_.value(number_, trial);
    ++report_.evaluations;
    if (there <= value + options_.search.decrease * t * descent.gradient) {
      s_ = (shares_.part(trial) - shares_.part(x_)).contiguous();
      if (shares_.norm(s_) == 0.0) break;  // a step that the variables cannot hold
      x_ = trial;
      report_.step_length = t;
      return there;
    }
    t *= std::isfinite(there) ? 0.5 : 0.1;
  }
  s_ = at::Tensor();
  ++report_.evaluations;
  return objective_.value(number_, x_);  // back to where the variables stood
}

LbfgsReport MultiBatchLbfgs::iterate() {
  report_.evaluations = 0;
  report_.step_length = 0.0;
  if (!x_.defined()) x_ = objective_.point();
  BatchEvaluation const here = look();
  at::Tensor const g = shares_.part(here.gradient);
  report_.gradient_norm = shares_.norm(g);
  report_.value = here.value;
  if (report_.gradient_norm <= options_.gradient_norm) {
    report_.stop = LbfgsStop::gradient;
  } else {
    Descent const descent = history_.descend(g, options_.first_step);
    if (descent.dropped) ++report_.resets;
    report_.value = search(descent, here.value);
    after_ = shares_.part(here.after).clone();
    if (s_.defined()) {
      failures_ = 0;
    } else {
      if (history_.count() > 0) ++report_.resets;
      history_.clear();
      if (++failures_ == kMaxFailures) report_.stop = LbfgsStop::no_descent;
    }
  }
  ++number_;
  report_.all_evaluations += report_.evaluations;
  return report_;
}

NamedTensors MultiBatchLbfgs::state() const {
  auto all = history_.state();
  all.emplace_back("scalars",
                   at::tensor({static_cast<double>(number_), static_cast<double>(failures_),
                               static_cast<double>(report_.all_evaluations),
                               static_cast<double>(report_.skipped),
                               static_cast<double>(report_.resets), s_.defined() ? 1.0 : 0.0},
                              at::kDouble));
  if (s_.defined()) {
    keep_whole(all, "step", shares_, s_);
    keep_whole(all, "after", shares_, after_);
  }
  return all;
}

void MultiBatchLbfgs::restore(ArraySource const& read) {
  history_.restore(read);
  at::Tensor const scalars = read("scalars");
  auto const* values = scalars.const_data_ptr<double>();
  number_ = static_cast<std::int64_t>(values[0]);
  failures_ = static_cast<std::int64_t>(values[1]);
  report_.all_evaluations = static_cast<std::int64_t>(values[2]);
  report_.skipped = static_cast<std::int64_t>(values[3]);
  report_.resets = static_cast<std::int64_t>(values[4]);
  if (values[5] == 0.0) return;
  s_ = shares_.part(read("step")).clone();
  after_ = shares_.part(read("after")).clone();
}

}  // namespace voxcycle
