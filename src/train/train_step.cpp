// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/train_step.hpp"

#include "voxcycle/core/device_timer.hpp"
#include "voxcycle/core/rehearsal.hpp"
#include "voxcycle/core/whereabouts.hpp"
#include "voxcycle/network/backward.hpp"

#include <cmath>

#include "train/step_parts.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {

BatchResult batch_gradient(BatchContext const& c, LocalBatch const& batch,
                           BatchOptions const& options) {
  at::AutoGradMode const grad_mode(options.gradient);
  BatchResult result;
  DeviceTimer timer(device_of(c.network).index());
  auto const lap = [&](double& part, char const* next) {
    part = timer.seconds();
    timer.restart();
    note_part(next);
  };
  note_part("forward");
  ForwardContext const context = forward_context(c, options);
  ForwardPass pass = forward_pass(c, context, local_inputs(c, context, batch),
                                  [&] { lap(result.times.forward, "loss"); });
  result.loss = mean_loss(c, context, on_host(pass.sums));
  lap(result.times.loss, "backward");
  if (!std::isfinite(result.loss)) result.bad_samples = describe_bad_samples(batch, pass.values);
  if (!std::isfinite(result.loss) || !options.gradient) return result;

  if (options.loss_scale) at::_foreach_mul_(pass.gradients, *options.loss_scale);
  backward(std::move(pass.u), std::move(pass.gradients));
  lap(result.times.backward, "sums of gradients");
  c.reducer.sum_up();
  if (options.loss_scale) {
    result.overflows = !unscale(c, number_on(c, *options.loss_scale)).item<bool>();
  } else {
    c.reducer.require_finite();
  }
  lap(result.times.reduction, "update");
  return result;
}

void update(StepContext const& c, at::Tensor const& rate, at::Tensor const& average_weight) {
  c.optimizer.step(rate);
  c.averaged.update(average_weight);
}

StepResult train_step(StepContext const& c, LocalBatch const& batch, double rate) {
  BatchOptions options{.samples = c.batch};
  if (c.loss_scale != nullptr) options.loss_scale = c.loss_scale->value();
  BatchResult const gradient = batch_gradient(c.on, batch, options);
  require_finite(c.on, gradient.loss, gradient.bad_samples);
  if (c.loss_scale != nullptr) c.loss_scale->settle(!gradient.overflows);
  DeviceTimer const timer(device_of(c.on.network).index());
  if (!gradient.overflows)
    update(c, number_on(c.on, rate), number_on(c.on, c.averaged.next_weight()));
  StepResult result{gradient.loss, gradient.times, rate, c.batch, {}};
  result.times.update = timer.seconds();
  if (c.loss_scale != nullptr) result.loss_scale = c.loss_scale->value();
  return result;
}

}  // namespace voxcycle
