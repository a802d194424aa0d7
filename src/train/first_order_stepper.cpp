// SPDX-License-Identifier: BSD-3-Clause
#include "train/first_order_stepper.hpp"

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
                plan_.batch},
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

  NamedTensors state() override { return optimizer_->state(); }
  void restore(CheckpointReader const& checkpoint) override {
    checkpoint.restore_optimizer(*optimizer_);
  }
  NamedTensors second_moments() const override { return optimizer_->second_moments(); }

 private:
  TrainOptions const& options_;
  LevelPlan const& plan_;
  AveragedWeights& averaged_;
  double peak_rate_;
  std::unique_ptr<Optimizer> optimizer_;
  StageSteps steps_;
  Prefetcher prefetch_;
};

}  // namespace

std::unique_ptr<Stepper> make_first_order_stepper(StageSetup const& setup) {
  return std::make_unique<FirstOrderStepper>(setup);
}

}  // namespace voxcycle
