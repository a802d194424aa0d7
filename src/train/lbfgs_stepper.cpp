// SPDX-License-Identifier: BSD-3-Clause
#include "train/lbfgs_stepper.hpp"

#include "voxcycle/core/log.hpp"
#include "voxcycle/core/stop_signal.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/timer.hpp"
#include "voxcycle/optim/lbfgs.hpp"
#include "voxcycle/optim/multi_batch_lbfgs.hpp"
#include "voxcycle/train/sample_objective.hpp"

#include <limits>
#include <variant>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

/// 16 bits round gradients to 2^-8 or 2^-11: their changes then show no curvature. L-BFGS computes
/// in float32 at least.
at::ScalarType precision(at::ScalarType asked) {
  return asked == at::kDouble ? at::kDouble : at::kFloat;
}

/// Relative error of a mean loss, from that of the network's output: energies sum up errors of both
/// signs, so this is generous.
double noise_of(at::ScalarType type) {
  return type == at::kDouble ? 1e-14 : 1e-7;
}

LbfgsOptions method_options(TrainOptions const& options, LevelPlan const& plan) {
  auto const type = precision(options.dtype);
  return {.pairs = options.lbfgs.pairs,
          .first_step = plan.rate,
          .search = {.noise = noise_of(type)},
          .history = type};
}

SampleObjective::Open opener(StageSetup const& setup, std::int64_t batch) {
  return [&setup, batch](std::int64_t first, std::int64_t count) {
    return std::make_unique<Prefetcher>(
        setup.samples(),
        PrefetchOptions{.batch = batch,
                        .micro_batch_size = setup.options.micro_batch_size,
                        .steps = std::numeric_limits<std::int64_t>::max(),
                        .first_position = first,
                        .period = count,
                        .ranks = setup.process_grid.groups(),
                        .rank = setup.process_grid.group(),
                        .references = needs_reference(setup.options.loss) ? ReadReference::yes
                                                                          : ReadReference::no,
                        .workers = setup.options.workers,
                        .planes = setup.process_grid.planes(setup.stage.plan.grid),
                        .pinned = setup.options.device.is_cuda()});
  };
}

/// Weights and running statistics of a network, to come back to.
class NetworkValues {
 public:
  explicit NetworkValues(Network const& network) : now_(all_values(network)) {
    for (auto const& tensor : now_) then_.push_back(tensor.detach().clone());
  }
  void restore() const {
    at::NoGradGuard const no_grad;
    for (std::size_t k = 0; k < now_.size(); ++k) now_[k].copy_(then_[k]);
  }

 private:
  std::vector<at::Tensor> now_, then_;
};

class LbfgsStepper final : public Stepper {
  template <class Body>
  auto each(Body const& body) {
    if (auto* method = std::get_if<Lbfgs>(&method_)) return body(*method);
    return body(std::get<MultiBatchLbfgs>(method_));
  }

 public:
  explicit LbfgsStepper(StageSetup const& setup)
      : setup_(setup),
        options_(setup.options),
        averaged_(setup.state.averaged()),
        rate_(setup.stage.plan.rate),
        plan_(SamplePlan::of(options_.lbfgs, setup.stage.plan, setup.samples().samples())),
        parameters_(parameter_groups(setup.state.network(), setup.stage)),
        objective_({.process_grid = setup.process_grid,
                    .network = setup.state.network(),
                    .loss = *setup.loss,
                    .reducer = setup.reducer,
                    .grid = setup.stage.plan.grid,
                    .dtype = precision(options_.dtype),
                    .micro_batch_size = options_.micro_batch_size,
                    .source = options_.source.kind,
                    .layout = options_.layout,
                    .recompute = setup.stage.plan.recompute},
                   parameters_, plan_, options_.lbfgs.statistics, opener(setup, plan_.batch),
                   setup.stop_wanted) {}

  StepResult step(StageMoment const&) override {
    StepTimes const before = objective_.times();
    std::int64_t const seen = objective_.samples_seen();
    Timer const timer;
    NetworkValues const values(setup_.state.network());
    try {
      if (std::holds_alternative<std::monostate>(method_)) begin();
      report_ = each([](auto& method) { return method.iterate(); });
    } catch (StopRequested const&) {
      values.restore();
      throw;
    }
    averaged_.set_horizon(1.0);  // a search goes down all the time: nothing to average
    averaged_.update(
        at::full({}, averaged_.next_weight(), at::device(options_.device).dtype(at::kFloat)));
    StepResult result{
        .loss = report_.value,
        .times = objective_.times(),
        .rate = rate_,
        .samples = objective_.samples_seen() - seen,
        .search = {report_.gradient_norm, report_.step_length,
                   static_cast<double>(report_.evaluations), static_cast<double>(report_.skipped)}};
    result.times -= before;
    result.times.update = timer.seconds() - result.times.total();
    return result;
  }

  std::string stopped() const override { return to_string(report_.stop); }

  std::string summary() const override {
    return format("L-BFGS: %ld evaluations, %ld pairs skipped, %ld resets; %s",
                  static_cast<long>(report_.all_evaluations), static_cast<long>(report_.skipped),
                  static_cast<long>(report_.resets),
                  report_.stop == LbfgsStop::none ? "ended by its budget"
                                                  : ("stopped: " + stopped()).c_str());
  }

  NamedTensors state() override {
    return each([](auto& method) { return method.state(); });
  }
  void restore(CheckpointReader const& checkpoint) override {
    make_method(at::ones({parameters_.size()}, at::kDouble));
    each([&](auto& method) {
      method.restore([&](std::string const& name) { return checkpoint.optimizer_array(name); });
      return 0;
    });
    report_ = each([](auto& method) { return method.report(); });
  }

 private:
  /// Within the first step: passes over the samples count as training time.
  void begin() {
    if (options_.lbfgs.statistics == LbfgsStageOptions::Statistics::running) {
      objective_.freeze_statistics(0);
    }
    std::string origin;
    make_method(initial_diagonal(origin));
    log_info(description() + "; starts from " + origin);
  }

  void make_method(at::Tensor const& diagonal) {
    auto const options = method_options(options_, setup_.stage.plan);
    if (plan_.iterates_batches()) {
      method_.emplace<MultiBatchLbfgs>(setup_.process_grid.all, objective_, diagonal, options);
    } else {
      method_.emplace<Lbfgs>(setup_.process_grid.all, objective_, diagonal, options);
    }
  }

  LbfgsHistory const& history() {
    if (auto* method = std::get_if<Lbfgs>(&method_)) return method->history();
    return std::get<MultiBatchLbfgs>(method_).history();
  }

  /// D, times the factors of the levels' rates.
  at::Tensor initial_diagonal(std::string& origin) {
    at::Tensor const factors = parameters_.rate_factors();
    if (options_.lbfgs.start == LbfgsStageOptions::Start::identity) {
      origin = "the identity";
      return factors;
    }
    at::Tensor v = parameters_.flatten(setup_.state.warm_start());
    origin = "Adam's second moments of the stage before";
    if (!v.defined()) {
      v = objective_.second_moments(0);
      origin = "second moments of one pass";
    }
    at::Tensor const root = v.sqrt();
    double const mean = root.mean().item<double>();
    // Without any gradient there is nothing to scale; the first iteration says so.
    return mean > 0.0 ? factors / (root + 1e-3 * mean) : factors;
  }

  std::string description() {
    std::string text = format("L-BFGS on %ld samples in batches of %ld",
                              static_cast<long>(plan_.samples), static_cast<long>(plan_.batch));
    if (plan_.iterates_batches()) {
      text += format(", %ld shared with the next iteration", static_cast<long>(plan_.overlap));
    }
    text += format("; %.3g million variables, history of %ld pairs: %s per process of %d",
                   1e-6 * static_cast<double>(parameters_.size()),
                   static_cast<long>(options_.lbfgs.pairs), format_bytes(history().bytes()).c_str(),
                   setup_.process_grid.all.size());
    return text;
  }

  StageSetup const& setup_;
  TrainOptions const& options_;
  AveragedWeights& averaged_;
  double rate_;
  SamplePlan plan_;
  FlatParameters parameters_;
  SampleObjective objective_;
  std::variant<std::monostate, Lbfgs, MultiBatchLbfgs> method_;
  LbfgsReport report_;
};

}  // namespace

std::unique_ptr<Stepper> make_lbfgs_stepper(StageSetup const& setup) {
  return std::make_unique<LbfgsStepper>(setup);
}

}  // namespace voxcycle
