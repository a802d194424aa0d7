// SPDX-License-Identifier: BSD-3-Clause
#include "train/step_parts.hpp"

#include "voxcycle/comm/exact_sum.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/rehearsal.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/grid/micro_batches.hpp"
#include "voxcycle/network/level_problem.hpp"
#include "voxcycle/network/network_input.hpp"
#include "voxcycle/network/spatial.hpp"

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
    return whole(parts);
  };
  LossInput whole{{}, all(&LossInput::nu), all(&LossInput::f), all(&LossInput::u_ref), {}, {}};
  for (auto const& one : micro_batches)
    whole.samples.insert(whole.samples.end(), one.samples.begin(), one.samples.end());
  return whole;
}

/// The loss of one micro-batch, which may be empty.
LossTerms evaluate(Loss const& loss, LossInput const& micro_batch) {
  if (micro_batch.u.size(0) == 0)
    return {at::empty({0}, at::kDouble), at::empty_like(micro_batch.u)};
  return loss.evaluate(micro_batch);
}

}  // namespace

ForwardContext forward_context(BatchContext const& c, BatchOptions const& options) {
  return {.comm = c.process_grid.all,
          .spatial = c.process_grid.spatial.get(),
          .slabs = c.process_grid.slabs,
          .reducer = &c.reducer,
          .device = device_of(c.network),
          .training = options.training,
          .statistics_weight = options.statistics_weight,
          .dtype = c.dtype,
          .layout = c.layout,
          .total_micro_batches = micro_batch_count(options.samples, c.micro_batch_size),
          .total_samples = options.samples,
          .micro_batch_size = c.micro_batch_size,
          .recompute = c.recompute};
}

std::vector<LossInput> local_inputs(BatchContext const& c, ForwardContext const& context,
                                    LocalBatch const& batch) {
  // Measured from the datum: float32 would have few digits left for what lies far from 0.
  double const datum = c.network.problems()->at(context, c.grid).datum;
  auto const type = at::device(context.device).dtype(solution_type(context));
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
    micro_batches.push_back({{}, field(batch.nu), field(batch.f), reference(k), {}, {}});
    if (k < batch.origin.size()) micro_batches.back().samples = batch.origin[k];
  }
  if (joins(micro_batches)) micro_batches = {joined(micro_batches)};
  if (micro_batches.empty()) {
    at::Tensor const none = at::empty(space_on(context, c.grid).slab().part().voxel_shape(0), type);
    micro_batches.push_back(
        {{}, none, c.source == SourceKind::constant ? at::Tensor() : none, {}, {}, {}});
  }
  return micro_batches;
}

ForwardPass forward_pass(BatchContext const& c, ForwardContext const& context,
                         std::vector<LossInput> micro_batches, std::function<void()> const& lap) {
  c.reducer.begin(context.total_micro_batches * c.process_grid.slabs.parts_of_cut());
  MicroBatches x;
  for (auto const& micro_batch : micro_batches)
    x.push_back(network_input(micro_batch.nu, micro_batch.f));
  ForwardPass pass;
  pass.u = c.network.forward(context, c.grid, x);
  lap();
  std::vector<at::Tensor> values, sums;
  for (std::size_t k = 0; k < pass.u.size(); ++k) {
    micro_batches[k].u = pass.u[k].detach().contiguous();
    LossTerms const terms = evaluate(c.loss, micro_batches[k]);
    values.push_back(terms.values);
    for (at::Tensor const& micro_batch : terms.values.split(c.micro_batch_size))
      sums.push_back(micro_batch.sum().view({1}));
    pass.gradients.push_back(terms.gradient.div_(static_cast<double>(context.total_samples)));
  }
  pass.values = at::cat(values);
  pass.sums = at::stack(sums);
  return pass;  // without the inputs, which share u: backward can do without
}

double mean_loss(BatchContext const& c, ForwardContext const& context, at::Tensor const& sums) {
  at::Tensor const counted = context.counts() ? sums : sums.narrow(0, 0, 0);
  return number_in<double>(exact_sum(c.process_grid.all, counted, context.total_micro_batches)) /
         static_cast<double>(context.total_samples);
}

at::Tensor number_on(BatchContext const& c, double value) {
  return at::full({}, value, at::device(device_of(c.network)).dtype(at::kFloat));
}

at::Tensor unscale(BatchContext const& c, at::Tensor const& scale) {
  at::NoGradGuard const no_grad;
  std::vector<at::Tensor> gradients;
  for (auto const& parameter : c.network.parameters())
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  // Also sees what the reducer was given as a total.
  at::Tensor overflow = at::zeros({1}, scale.options());
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, overflow, scale.reciprocal().view({1}));
  return at::logical_and(overflow.eq(0.0), c.reducer.finite());
}

std::string describe_bad_samples(LocalBatch const& batch, at::Tensor const& values) {
  constexpr int maximum = 8;
  at::Tensor const is_finite = on_host(values.isfinite());
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

void require_finite(BatchContext const& c, double loss, std::string const& bad_samples) {
  if (std::isfinite(loss)) return;
  c.process_grid.all.agree_on_error(bad_samples);
  throw Error("the loss is not finite, though each sample's is. Lower the rate.");
}

}  // namespace voxcycle
