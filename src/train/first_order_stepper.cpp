// SPDX-License-Identifier: BSD-3-Clause
#include "train/first_order_stepper.hpp"

#include "voxcycle/core/text.hpp"
#include "voxcycle/core/timer.hpp"
#include "voxcycle/dataset/prefetch.hpp"
#include "voxcycle/train/stage_steps.hpp"

#include <limits>

namespace voxcycle {
namespace {

class FirstOrderStepper final : public Stepper {
 public:
  explicit FirstOrderStepper(StageSetup const& setup)
      : options_(setup.options),
        plan_(setup.stage.plan),
        averaged_(setup.state.averaged()),
        peak_rate_(plan_.rate * rate_scale(options_.rate_scaling, setup.process_grid.groups())),
        optimizer_(make_optimizer(optimizer_options(options_, setup.stage),
                                  parameter_groups(setup.state.network(), setup.stage))),
        loss_scale_(options_.loss_scale),
        steps_({{.process_grid = setup.process_grid,
                 .network = setup.state.network(),
                 .loss = *setup.loss,
                 .reducer = setup.reducer,
                 .grid = plan_.grid,
                 .dtype = options_.dtype,
                 .micro_batch_size = options_.micro_batch_size,
                 .source = options_.source.kind,
                 .layout = options_.layout,
                 .recompute = plan_.recompute},
                *optimizer_,
                averaged_,
                plan_.batch,
                has_loss_scale() ? &loss_scale_ : nullptr},
               options_.graph),
        prefetch_(
            setup.samples(),
            {.batch = plan_.batch,
             .micro_batch_size = options_.micro_batch_size,
             .steps = setup.budget.steps > 0 ? setup.budget.steps
                                             : std::numeric_limits<std::int64_t>::max(),
             .first_step = setup.state.position().step,
             .ranks = setup.process_grid.groups(),
             .rank = setup.process_grid.group(),
             .references = needs_reference(options_.loss) ? ReadReference::yes : ReadReference::no,
             .workers = options_.workers,
             .planes = setup.process_grid.planes(plan_.grid),
             .pinned = options_.device.is_cuda()}) {}

  StepResult step(StageMoment const& moment) override {
    double const rate = peak_rate_ * scheduled_rate(options_.decay, moment.progress,
                                                    moment.step_share, plan_.warm_up);
    averaged_.set_horizon(options_.average_horizon / moment.step_share);
    Timer const timer;
    LocalBatch const batch = prefetch_.next();
    double const waited = timer.seconds();
    StepResult result = steps_.step(batch, rate);
    result.times.data = waited;
    return result;
  }

  std::string summary() const override {
    if (!has_loss_scale()) return {};
    return format("loss scale %g at the end; steps skipped for overflow: %ld", loss_scale_.value(),
                  static_cast<long>(loss_scale_.skipped()));
  }
  NamedTensors state() override {
    NamedTensors all = optimizer_->state();
    if (has_loss_scale()) all.emplace_back(kLossScale, loss_scale_.state());
    return all;
  }
  void restore(CheckpointReader const& checkpoint) override {
    checkpoint.restore_optimizer(*optimizer_);
    if (has_loss_scale()) loss_scale_.restore(checkpoint.optimizer_array(kLossScale));
  }
  NamedTensors second_moments() const override { return optimizer_->second_moments(); }

 private:
  static constexpr char const* kLossScale = "loss_scale";
  bool has_loss_scale() const { return options_.dtype == at::kHalf; }

  TrainOptions const& options_;
  LevelPlan const& plan_;
  AveragedWeights& averaged_;
  double peak_rate_;
  std::unique_ptr<Optimizer> optimizer_;
  LossScale loss_scale_;
  StageSteps steps_;
  Prefetcher prefetch_;
};

}  // namespace

std::unique_ptr<Stepper> make_first_order_stepper(StageSetup const& setup) {
  return std::make_unique<FirstOrderStepper>(setup);
}

}  // namespace voxcycle
