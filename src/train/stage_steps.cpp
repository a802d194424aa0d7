// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/stage_steps.hpp"

#include "voxcycle/core/device_graph.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/rehearsal.hpp"
#include "voxcycle/core/timer.hpp"
#include "voxcycle/network/backward.hpp"
#include "voxcycle/network/level_problem.hpp"

#include <cmath>

#include "train/step_parts.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

/// Steps of a shape before one is recorded: cuDNN chooses its algorithms, the optimiser's state and
/// tables of addresses are made.
constexpr int first_steps = 2;

std::vector<std::int64_t> sizes_of(std::vector<at::Tensor> const& micro_batches) {
  std::vector<std::int64_t> sizes;
  for (auto const& micro_batch : micro_batches) sizes.push_back(micro_batch.size(0));
  return sizes;
}

/// Why steps cannot be recorded, or "".
std::string no_graph_reason(StepContext const& c, LocalBatch const& batch) {
  if (!device_of(c.on.network).is_cuda()) return "the network is not on a GPU";
  if (c.on.process_grid.all.size() > 1) return "sums over several processes are not recorded";
  if (!batch.u_ref.empty()) return "the loss compares with reference solutions";
  return {};
}

}  // namespace

/// What a graph reads and writes stays here.
struct StageSteps::Recorded {
  Recorded(StepContext const& c, LocalBatch const& batch)
      : context(c), forward(forward_context(c.on, {.samples = c.batch})) {
    auto const type = at::device(forward.device).dtype(solution_type(forward));
    nu = whole(batch.nu).to(type);
    if (!batch.f.empty()) f = whole(batch.f).to(type);
    at::Tensor const known = sample_numbers(batch);
    count = known.defined() ? known.size(1) : 0;
    host =
        at::empty({own + count * nu.size(0)}, at::TensorOptions(at::kDouble).pinned_memory(true));
    numbers = at::zeros_like(host, at::device(forward.device));
    graph =
        std::make_unique<DeviceGraph>(forward.device.index(), [&] { record(sizes_of(batch.nu)); });
    if (context.loss_scale != nullptr)
      update_graph =
          std::make_unique<DeviceGraph>(forward.device.index(), [&] { record_update(); });
  }

  void record(std::vector<std::int64_t> const& sizes) {
    at::AutoGradMode const with_gradient(true);
    std::vector<LossInput> inputs;
    at::Tensor const of_samples = numbers.narrow(0, own, numbers.size(0) - own).view({-1, count});
    std::int64_t first = 0;
    for (std::int64_t const size : sizes) {
      auto const part = [&](at::Tensor const& all) {
        return all.defined() ? all.narrow(0, first, size) : all;
      };
      inputs.push_back(
          {{}, part(nu), part(f), {}, {}, count > 0 ? part(of_samples) : at::Tensor()});
      first += size;
    }
    ForwardPass pass = forward_pass(context.on, forward, std::move(inputs), [] {});
    bool const scaled = context.loss_scale != nullptr;
    if (scaled) at::_foreach_mul_(pass.gradients, number(2));
    backward(std::move(pass.u), std::move(pass.gradients));
    context.on.reducer.sum_up();
    at::Tensor const finite = scaled ? unscale(context.on, number(2)) : context.on.reducer.finite();
    if (!scaled) record_update();
    values = pass.values;
    found = at::cat({pass.sums.view({-1}), finite.to(at::kDouble)});
  }

  void record_update() { update(context, number(0), number(1)); }
  at::Tensor number(std::int64_t k) const { return numbers[k].to(at::kFloat); }

  at::Tensor sample_numbers(LocalBatch const& batch) const {
    LossInput all{{}, nu, f, {}, {}, {}};
    for (auto const& samples : batch.origin)
      all.samples.insert(all.samples.end(), samples.begin(), samples.end());
    return context.on.loss.sample_numbers(all);
  }

  /// @return the mean loss
  double step(LocalBatch const& batch, double rate) {
    nu.copy_(whole(batch.nu), /*non_blocking=*/true);
    if (f.defined()) f.copy_(whole(batch.f), /*non_blocking=*/true);
    auto* const first = host.mutable_data_ptr<double>();
    first[0] = rate;
    first[1] = context.averaged.next_weight();
    first[2] = context.loss_scale != nullptr ? context.loss_scale->value() : 1.0;
    if (count > 0) host.narrow(0, own, host.size(0) - own).copy_(sample_numbers(batch).view({-1}));
    numbers.copy_(host, /*non_blocking=*/true);
    graph->launch();
    at::Tensor const now = on_host(found);  // the step's only wait
    std::int64_t const sums = now.size(0) - 1;
    double const loss = mean_loss(context.on, forward, now.narrow(0, 0, sums).view({-1, 1}));
    require_finite(context.on, loss,
                   std::isfinite(loss) ? "" : describe_bad_samples(batch, values));
    bool const is_finite = now.const_data_ptr<double>()[sums] != 0.0;
    if (context.loss_scale == nullptr) {
      if (!is_finite) context.on.reducer.require_finite();
      return loss;
    }
    context.loss_scale->settle(is_finite);
    if (is_finite) {
      update_graph->launch();
    } else {
      context.averaged.restore(context.averaged.updates() - 1);
    }
    return loss;
  }

  static constexpr std::int64_t own = 3;  ///< numbers of the step, before those of the samples

  StepContext const& context;
  ForwardContext const forward;
  at::Tensor nu, f;          ///< of all micro-batches
  std::int64_t count = 0;    ///< numbers of a sample that the loss wants
  at::Tensor host, numbers;  ///< rate, weight of the average, loss scale, those of the samples
  at::Tensor values, found;  ///< losses; sums of the micro-batches and whether gradients are finite
  /// All of a step, or where it may be skipped, all but the update.
  std::unique_ptr<DeviceGraph> graph, update_graph;
};

StageSteps::StageSteps(StepContext const& context, bool use_graphs)
    : context_(context), use_graphs_(use_graphs) {}

StageSteps::~StageSteps() = default;

StepResult StageSteps::step(LocalBatch const& batch, double rate) {
  if (!use_graphs_ || batch.nu.empty()) return train_step(context_, batch, rate);
  auto& [steps, recorded] = shapes_[sizes_of(batch.nu)];
  if (!recorded && steps++ < first_steps) return train_step(context_, batch, rate);
  if (!recorded) {
    std::string reason = no_graph_reason(context_, batch);
    try {
      if (reason.empty()) recorded = std::make_unique<Recorded>(context_, batch);
    } catch (std::exception const& error) {
      reason = error.what();
      reason = reason.substr(0, reason.find('\n'));  // torch adds a stack
    }
    if (!recorded) {
      log_warning("training steps are not recorded in a CUDA graph: " + reason);
      use_graphs_ = false;
      return train_step(context_, batch, rate);
    }
  }
  Timer const timer;
  StepResult result{recorded->step(batch, rate), {}, rate, context_.batch, {}};
  result.times.graph = timer.seconds();
  if (context_.loss_scale != nullptr) result.loss_scale = context_.loss_scale->value();
  return result;
}

}  // namespace voxcycle
