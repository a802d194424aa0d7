// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/train_step.hpp"

#include "voxcycle/comm/exact_sum.hpp"
#include "voxcycle/core/device_timer.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/rehearsal.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/grid/micro_batches.hpp"
#include "voxcycle/network/backward.hpp"
#include "voxcycle/network/network_input.hpp"

#include <cmath>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

/// Whether the micro-batches of a rank are computed as one: on CPUs, small fields take less time
/// than what every operation costs besides. Samples have the same bits either way, as long as
/// oneDNN's convolutions do not look at their number (tests/unit/network/conv_test.cpp).
bool joins(std::vector<LossInput> const& micro_batches) {
  constexpr std::int64_t max_voxels = std::int64_t{1} << 18;  // 64^3 took a tenth longer
  std::int64_t voxels = 0;
  for (auto const& micro_batch : micro_batches) voxels += micro_batch.nu.numel();
  return micro_batches.size() > 1 && !is_on_gpu(micro_batches.front().nu) && voxels <= max_voxels;
}

LossInput joined(std::vector<LossInput> const& micro_batches) {
  auto const all = [&](at::Tensor LossInput::*field) {
    if (!(micro_batches.front().*field).defined()) return at::Tensor();
    std::vector<at::Tensor> parts;
    for (auto const& micro_batch : micro_batches) parts.push_back(micro_batch.*field);
    return at::cat(parts);
  };
  LossInput whole{{}, all(&LossInput::nu), all(&LossInput::f), all(&LossInput::u_ref)};
  for (auto const& [u, nu, f, u_ref, samples] : micro_batches)
    whole.samples.insert(whole.samples.end(), samples.begin(), samples.end());
  return whole;
}

/// What losses look at, micro-batch by micro-batch, but u. A rank without micro-batches takes part
/// with an empty one.
/// @param datum  of the boundary: float32 would have few digits left for what lies far from 0
std::vector<LossInput> local_inputs(BatchContext const& c, LocalBatch const& batch,
                                    at::Device device, double datum) {
  auto const type =
      at::TensorOptions(device).dtype(c.dtype == at::kDouble ? at::kDouble : at::kFloat);
  auto const reference = [&](std::size_t k) {
    if (batch.u_ref.empty()) return at::Tensor();
    at::Tensor const u = datum == 0.0 ? batch.u_ref[k] : batch.u_ref[k] - datum;
    return u.to(type, /*non_blocking=*/datum == 0.0);
  };
  std::vector<LossInput> micro_batches;
  for (std::size_t k = 0; k < batch.nu.size(); ++k) {
    auto const field = [&](std::vector<at::Tensor> const& all) {
      return all.empty() ? at::Tensor() : all[k].to(type, /*non_blocking=*/true);
    };
    micro_batches.push_back({{}, field(batch.nu), field(batch.f), reference(k)});
    if (k < batch.origin.size()) micro_batches.back().samples = batch.origin[k];
  }
  if (joins(micro_batches)) micro_batches = {joined(micro_batches)};
  if (micro_batches.empty()) {
    at::Tensor const none = at::empty(c.grid.voxel_shape(0), type);
    micro_batches.push_back(
        {{}, none, c.source == SourceKind::sampled ? none : at::Tensor(), {}, {}});
  }
  return micro_batches;
}

/// The loss of one micro-batch, which may be empty.
LossTerms evaluate(Loss const& loss, LossInput const& micro_batch) {
  if (micro_batch.u.size(0) == 0)
    return {at::empty({0}, at::kDouble), at::empty_like(micro_batch.u)};
  return loss.evaluate(micro_batch);
}

/// Samples whose loss is not finite, in words; empty if all are.
std::string describe_bad_samples(LocalBatch const& batch, std::vector<LossTerms> const& terms) {
  constexpr int maximum = 8;
  std::vector<at::Tensor> values;
  for (auto const& term : terms) values.push_back(term.values);
  at::Tensor const is_finite = on_host(at::cat(values).isfinite());
  std::string text;
  int count = 0;
  std::int64_t sample = 0;
  for (auto const& micro_batch : batch.origin) {
    for (auto const& origin : micro_batch) {
      if (is_finite[sample++].item<bool>() || ++count > maximum) continue;
      text += format(" %ld", static_cast<long>(origin.index));
      if (origin.set > 0) text += format(" (data set %d)", origin.set + 1);
    }
  }
  if (count == 0) return text;
  if (count > maximum) text += format(" and %d more", count - maximum);
  return format(
      "the loss is not finite for the samples%s. Lower the rate, or look at these samples.",
      text.c_str());
}

}  // namespace

StepTimes& StepTimes::operator+=(StepTimes const& other) {
  data += other.data;
  forward += other.forward;
  loss += other.loss;
  backward += other.backward;
  reduction += other.reduction;
  update += other.update;
  return *this;
}

StepTimes& StepTimes::operator-=(StepTimes const& other) {
  data -= other.data;
  forward -= other.forward;
  loss -= other.loss;
  backward -= other.backward;
  reduction -= other.reduction;
  update -= other.update;
  return *this;
}

std::array<std::pair<char const*, double>, 6> StepTimes::named() const {
  return {{{"data", data},
           {"forward", forward},
           {"loss", loss},
           {"backward", backward},
           {"reduction", reduction},
           {"update", update}}};
}

BatchResult batch_gradient(BatchContext const& c, LocalBatch const& batch,
                           BatchOptions const& options) {
  at::AutoGradMode const grad_mode(options.gradient);
  BatchResult result;
  at::Device const device = device_of(c.network);
  DeviceTimer timer(device.index());
  auto const lap = [&](double& part) {
    part = timer.seconds();
    timer.restart();
  };

  ForwardContext const context{
      .comm = c.process_grid.all,
      .spatial = c.process_grid.spatial.get(),
      .slabs = c.process_grid.slabs,
      .reducer = &c.reducer,
      .device = device,
      .training = options.training,
      .statistics_weight = options.statistics_weight,
      .dtype = c.dtype,
      .layout = c.layout,
      .total_micro_batches = micro_batch_count(options.samples, c.micro_batch_size),
      .total_samples = options.samples,
      .micro_batch_size = c.micro_batch_size,
      .recompute = c.recompute};
  c.reducer.begin(context.total_micro_batches * c.process_grid.slabs.count);
  double const datum = c.network.problems()->at(context, c.grid).datum;
  auto micro_batches = local_inputs(c, batch, device, datum);
  MicroBatches x;
  for (auto const& micro_batch : micro_batches)
    x.push_back(network_input(micro_batch.nu, micro_batch.f));
  MicroBatches u = c.network.forward(context, c.grid, x);
  lap(result.times.forward);

  std::vector<LossTerms> terms;
  std::vector<at::Tensor> sums;
  std::vector<at::Tensor> gradients;
  for (std::size_t k = 0; k < u.size(); ++k) {
    micro_batches[k].u = u[k].detach().contiguous();
    terms.push_back(evaluate(c.loss, micro_batches[k]));
    for (at::Tensor const& micro_batch : terms.back().values.split(c.micro_batch_size))
      sums.push_back(micro_batch.sum().view({1}));
    gradients.push_back(terms.back().gradient.div_(static_cast<double>(options.samples)));
  }
  at::Tensor const loss_terms = on_host(at::stack(sums));
  result.loss = number_in<double>(exact_sum(
                    c.process_grid.all, context.counts() ? loss_terms : loss_terms.narrow(0, 0, 0),
                    context.total_micro_batches)) /
                static_cast<double>(options.samples);
  lap(result.times.loss);
  if (!std::isfinite(result.loss)) result.bad_samples = describe_bad_samples(batch, terms);
  if (!std::isfinite(result.loss) || !options.gradient) return result;

  micro_batches.clear();  // they share u, which backward can do without
  backward(std::move(u), std::move(gradients));
  lap(result.times.backward);
  c.reducer.finish();
  lap(result.times.reduction);
  return result;
}

StepResult train_step(StepContext const& c, LocalBatch const& batch, double rate) {
  BatchResult const gradient = batch_gradient(c.on, batch, {.samples = c.batch});
  if (!std::isfinite(gradient.loss)) {
    c.on.process_grid.all.agree_on_error(gradient.bad_samples);
    throw Error("the loss is not finite, though each sample's is. Lower the rate.");
  }
  DeviceTimer const timer(device_of(c.on.network).index());
  c.optimizer.step(rate);
  c.averaged.update();
  StepResult result{gradient.loss, gradient.times, rate, c.batch, {}};
  result.times.update = timer.seconds();
  return result;
}

}  // namespace voxcycle
