// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/train_step.hpp"

#include "voxcycle/core/device_timer.hpp"
#include "voxcycle/core/rehearsal.hpp"
#include "voxcycle/network/backward.hpp"

#include <cmath>

#include "train/step_parts.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {

StepTimes& StepTimes::operator+=(StepTimes const& other) {
  data += other.data;
  forward += other.forward;
  loss += other.loss;
  backward += other.backward;
  reduction += other.reduction;
  update += other.update;
  graph += other.graph;
  return *this;
}

StepTimes& StepTimes::operator-=(StepTimes const& other) {
  data -= other.data;
  forward -= other.forward;
  loss -= other.loss;
  backward -= other.backward;
  reduction -= other.reduction;
  update -= other.update;
  graph -= other.graph;
  return *this;
}

std::array<std::pair<char const*, double>, 7> StepTimes::named() const {
  return {{{"data", data},
           {"forward", forward},
           {"loss", loss},
           {"backward", backward},
           {"reduction", reduction},
           {"update", update},
           {"graph", graph}}};
}

BatchResult batch_gradient(BatchContext const& c, LocalBatch const& batch,
                           BatchOptions const& options) {
  at::AutoGradMode const grad_mode(options.gradient);
  BatchResult result;
  DeviceTimer timer(device_of(c.network).index());
  auto const lap = [&](double& part) {
    part = timer.seconds();
    timer.restart();
  };
  ForwardContext const context = forward_context(c, options);
  ForwardPass pass =
      forward_pass(c, context, local_inputs(c, context, batch), [&] { lap(result.times.forward); });
  result.loss = mean_loss(c, context, on_host(pass.sums));
  lap(result.times.loss);
  if (!std::isfinite(result.loss)) result.bad_samples = describe_bad_samples(batch, pass.values);
  if (!std::isfinite(result.loss) || !options.gradient) return result;

  backward(std::move(pass.u), std::move(pass.gradients));
  lap(result.times.backward);
  c.reducer.finish();
  lap(result.times.reduction);
  return result;
}

void update(StepContext const& c, at::Tensor const& rate, at::Tensor const& average_weight) {
  c.optimizer.step(rate);
  c.averaged.update(average_weight);
}

StepResult train_step(StepContext const& c, LocalBatch const& batch, double rate) {
  BatchResult const gradient = batch_gradient(c.on, batch, {.samples = c.batch});
  require_finite(c.on, gradient.loss, gradient.bad_samples);
  at::Device const device = device_of(c.on.network);
  DeviceTimer const timer(device.index());
  auto const number = [&](double value) {
    return at::full({}, value, at::device(device).dtype(at::kFloat));
  };
  update(c, number(rate), number(c.averaged.next_weight()));
  StepResult result{gradient.loss, gradient.times, rate, c.batch, {}};
  result.times.update = timer.seconds();
  return result;
}

}  // namespace voxcycle
