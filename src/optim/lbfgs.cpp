// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/optim/lbfgs.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

}  // namespace

std::string to_string(LbfgsStop stop) {
  switch (stop) {
    case LbfgsStop::none:
      return "";
    case LbfgsStop::gradient:
      return "the gradient is as small as asked for";
    case LbfgsStop::no_descent:
      return "no lower value along the scaled gradient (rounding is reached, or cycle.rate, the "
             "length of the first step, is far too large)";
  }
  throw Error("unknown reason to stop.");
}

Lbfgs::Lbfgs(Communicator const& comm, Objective& objective, at::Tensor const& diagonal,
             LbfgsOptions const& options)
    : objective_(objective),
      options_(options),
      shares_(comm, objective.size()),
      history_(shares_, options.pairs, shares_.part(diagonal).clone(), options.history) {
  VOXCYCLE_REQUIRE(options_.first_step > 0.0,
                   "L-BFGS: a first step of " << options_.first_step << " leads nowhere. Give a "
                                              << "length above zero.");
}

/// Back to x, where the objective had `value`: its own state then fits x, too.
void Lbfgs::revisit(at::Tensor const& x, double value) {
  ++report_.evaluations;
  double const again = objective_.value(x);
  VOXCYCLE_REQUIRE(same_bits(again, value),
                   format("L-BFGS: two evaluations at the same point gave %.17g and %.17g (the "
                          "objective is no function: random layers, or other samples each time). "
                          "Use a first-order optimiser.",
                          value, again));
}

void Lbfgs::begin() {
  x_ = objective_.point();
  at_ = objective_.evaluate(x_);
  ++report_.evaluations;
  VOXCYCLE_REQUIRE(std::isfinite(at_.value),
                   "L-BFGS: the value at the start is not finite. Train with a first-order "
                   "optimiser first, at a lower rate.");
  revisit(x_, at_.value);
}

/// One search. @return whether a lower value was found; x_, at_ and the history then know it
bool Lbfgs::move() {
  auto const [d, gradient, dropped] =
      history_.descend(shares_.part(at_.gradient), options_.first_step);
  if (dropped) ++report_.resets;
  if (!(gradient < 0.0)) return false;
  at::Tensor const part = d;  // lambdas cannot capture structured bindings
  at::Tensor const whole = shares_.gather(d);
  at::Tensor trial;
  ObjectiveValue there;
  double tried = 0.0;
  auto const phi = [&](double t) -> LinePoint {
    trial = x_.clone();
    add_scaled(trial, whole, t);
    there = objective_.evaluate(trial);
    tried = t;
    if (!there.gradient.defined()) return {t, there.value, 0.0};
    return {t, there.value, shares_.dot(part, shares_.part(there.gradient))};
  };
  auto const found = strong_wolfe(phi, {0.0, at_.value, gradient}, 1.0, options_.search);
  report_.evaluations += found.evaluations;
  if (found.end == LineEnd::failed) {
    revisit(x_, at_.value);
    return false;
  }
  if (tried != found.point.t) {
    ++report_.evaluations;
    phi(found.point.t);
    VOXCYCLE_REQUIRE(same_bits(there.value, found.point.value),
                     "L-BFGS: the objective changed during a search (it is no function). Use a "
                     "first-order optimiser.");
  }
  at::Tensor const s = (shares_.part(trial) - shares_.part(x_)).contiguous();
  if (shares_.norm(s) == 0.0) return false;  // a step that the variables cannot hold
  at::Tensor const y = (shares_.part(there.gradient) - shares_.part(at_.gradient)).contiguous();
  if (!history_.add(s, y)) ++report_.skipped;
  x_ = trial;
  at_ = there;
  report_.step_length = found.point.t;
  return true;
}

LbfgsReport Lbfgs::iterate() {
  auto const mark = history_.mark();
  auto const resets = report_.resets;
  try {
    return advance();
  } catch (...) {  // given up: to be done again
    history_.return_to(mark);
    report_.resets = resets;
    throw;
  }
}

LbfgsReport Lbfgs::advance() {
  report_.evaluations = 0;
  report_.step_length = 0.0;
  if (!x_.defined()) begin();
  auto const gradient_norm = [&] { return shares_.norm(shares_.part(at_.gradient)); };
  if (gradient_norm() > options_.gradient_norm) {
    bool moved = move();
    if (!moved && history_.count() > 0) {
      history_.clear();
      ++report_.resets;
      moved = move();
    }
    if (!moved) report_.stop = LbfgsStop::no_descent;
  }
  report_.gradient_norm = gradient_norm();
  if (report_.gradient_norm <= options_.gradient_norm) report_.stop = LbfgsStop::gradient;
  report_.value = at_.value;
  report_.all_evaluations += report_.evaluations;
  return report_;
}

NamedTensors Lbfgs::state() const {
  auto all = history_.state();
  all.emplace_back("scalars",
                   at::tensor({at_.value, static_cast<double>(report_.all_evaluations),
                               static_cast<double>(report_.skipped),
                               static_cast<double>(report_.resets), x_.defined() ? 1.0 : 0.0},
                              at::kDouble));
  if (x_.defined()) all.emplace_back("gradient", at_.gradient);
  return all;
}

void Lbfgs::restore(ArraySource const& read) {
  history_.restore(read);
  at::Tensor const scalars = read("scalars");
  auto const* values = scalars.const_data_ptr<double>();
  report_.all_evaluations = static_cast<std::int64_t>(values[1]);
  report_.skipped = static_cast<std::int64_t>(values[2]);
  report_.resets = static_cast<std::int64_t>(values[3]);
  if (values[4] == 0.0) return;
  x_ = objective_.point();
  at_ = {values[0], read("gradient").clone()};
}

}  // namespace voxcycle
