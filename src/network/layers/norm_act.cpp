// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/norm_act.hpp"

#include "voxcycle/comm/exact_sum.hpp"
#include "voxcycle/comm/halo.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/exact_math.hpp"
#include "voxcycle/core/sole_holder.hpp"
#include "voxcycle/network/statistics_record.hpp"

#include <algorithm>
#include <utility>

#include "network/layers/norm_coefficients.hpp"
#include "network/layers/norm_loops.hpp"
#include "network/layers/parameter_options.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

namespace voxcycle {
namespace {

using norm_coefficients::Affine;
using norm_coefficients::Gradients;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// How statistics were taken: decides what depends on x in backward.
enum class Statistics { batch, grouped, fixed };

/// [n, C] -> mean over the channels of each group, [n, C].
at::Tensor group_mean(at::Tensor const& values, std::int64_t groups) {
  std::int64_t const n = values.size(0);
  std::int64_t const channels = values.size(1);
  return values.view({n, groups, channels / groups})
      .mean(2, /*keepdim=*/true)
      .expand({n, groups, channels / groups})
      .reshape({n, channels});
}

/// Of a sample, all its slabs.
std::int64_t voxels_of(ForwardContext const& context, at::Tensor const& x) {
  std::int64_t const planes =
      context.in_slabs() ? context.space->slab().whole.voxels[0] : x.size(2);
  return planes * x.size(3) * x.size(4);
}

/// The parts of a sample whose sums are terms of their own: planes of features.
std::vector<Planes> parts_of(ForwardContext const& context, at::Tensor const& x) {
  if (!context.in_slabs()) return {{0, x.size(2)}};
  return context.space->slab().own_parts();
}

at::Tensor planes_of(at::Tensor const& x, Planes const& planes) {
  if (planes.count == x.size(2)) return x;
  return x.narrow(2, planes.begin, planes.count).contiguous(x.suggest_memory_format());
}

/// Sums over all samples of all ranks.
/// @param sums  of the parts of the first micro-batch, those of the second, ..., each [n, columns]
at::Tensor total(ForwardContext const& context, std::vector<at::Tensor> const& sums) {
  at::Tensor const terms = at::cat(sums);
  return exact_sum(context.comm, context.counts() ? terms : terms.narrow(0, 0, 0),
                   context.total_samples * context.shares());
}

/// Sums over the parts of each sample: of each micro-batch, [n, columns].
/// @param sums  as of total
std::vector<at::Tensor> over_parts(ForwardContext const& context,
                                   std::vector<at::Tensor> const& sums) {
  if (!context.in_slabs()) return sums;
  auto const alone = make_self_communicator();
  Communicator const& group = context.spatial == nullptr ? *alone : *context.spatial;
  std::size_t const parts = context.space->slab().own_parts().size();
  std::vector<at::Tensor> all;
  for (std::size_t first = 0; first < sums.size(); first += parts) {
    at::Tensor const terms = at::stack(at::TensorList(sums).slice(first, parts)).flatten(1);
    bool const is_empty = terms.numel() == 0;  // on all ranks of the space alike
    all.push_back(is_empty ? sums[first]
                           : exact_sum(group, terms, context.shares()).view(sums[first].sizes()));
  }
  return all;
}

/// norm_coefficients::gradients where each sample has statistics of its own: one a micro-batch,
/// which share the gradients of gamma and beta.
/// @param sums  of the parts of micro-batches, [n, 2C] of g and g (x - mean)
std::vector<Gradients> grouped_gradients(ForwardContext const& context,
                                         std::vector<at::Tensor> const& sums,
                                         std::vector<BatchStatistics> const& moments,
                                         std::int64_t groups, double voxels,
                                         at::Tensor const& gamma, at::ScalarType compute) {
  std::int64_t const channels = gamma.numel();
  std::size_t const parts = sums.size() / moments.size();
  for (std::size_t k = 0; k < sums.size(); ++k) {
    sums[k].narrow(1, channels, channels).mul_(moments[k / parts].inverse_std);
  }
  at::Tensor const totals = total(context, sums);
  auto const of_samples = over_parts(context, sums);
  at::Tensor const dbeta = totals.narrow(0, 0, channels).to(gamma.options());
  at::Tensor const dgamma = totals.narrow(0, channels, channels).to(gamma.options());
  std::vector<Gradients> gradients;
  for (std::size_t k = 0; k < moments.size(); ++k) {
    auto const& [mean, inverse_std] = moments[k];
    at::Tensor const k1 = group_mean(gamma * of_samples[k].narrow(1, 0, channels), groups) / voxels;
    at::Tensor const k2 =
        group_mean(gamma * of_samples[k].narrow(1, channels, channels), groups) / voxels;
    at::Tensor const linear = -(inverse_std * inverse_std * k2);
    gradients.push_back(
        {dgamma, dbeta, linear.to(compute), (-(inverse_std * k1) - mean * linear).to(compute)});
  }
  return gradients;
}

/// Of one set of statistics and its coefficients, for backward: in this order.
variable_list to_save(BatchStatistics const& moments, Affine const& affine) {
  return {moments.mean, moments.inverse_std, affine.scale, affine.shift, affine.center};
}

std::vector<Affine> affine_of(std::vector<BatchStatistics> const& moments, at::Tensor const& gamma,
                              at::Tensor const& beta, at::Tensor const& x) {
  std::vector<Affine> all;
  for (auto const& set : moments) {
    all.push_back(norm_coefficients::affine(set, gamma, beta, norm_loops::compute_type(x)));
  }
  return all;
}

/// Where no gradient is wanted: micro-batches that nobody else sees are overwritten.
MicroBatches without_gradient(MicroBatches x, std::vector<Affine> const& affine, double gradient) {
  for (std::size_t k = 0; k < x.size(); ++k) {
    auto const& a = affine[affine.size() == 1 ? 0 : k];
    at::Tensor const y = is_sole_holder(x[k]) ? x[k] : at::empty_like(x[k]);
    norm_loops::forward(x[k], a.scale, a.shift, gradient, y);
    x[k] = y;
  }
  return x;
}

struct NormActFunction : torch::autograd::Function<NormActFunction> {
  /// @param moments  one set for all micro-batches, or one a micro-batch (Statistics::grouped)
  static variable_list forward(AutogradContext* ctx, at::TensorList x, at::Tensor const& gamma,
                               at::Tensor const& beta, std::vector<BatchStatistics> const& moments,
                               Statistics statistics, NormOptions const& options,
                               ForwardContext const& context) {
    variable_list saved(x.begin(), x.end());
    saved.insert(saved.end(), {gamma, beta});
    auto const affine = affine_of(moments, gamma, beta, x.front());
    for (std::size_t k = 0; k < moments.size(); ++k) {
      auto const kept = to_save(moments[k], affine[k]);
      saved.insert(saved.end(), kept.begin(), kept.end());
    }
    variable_list y;
    for (std::size_t k = 0; k < x.size(); ++k) {
      auto const& a = affine[affine.size() == 1 ? 0 : k];
      // Convolutions that reach beyond slabs then need no copy.
      y.push_back(context.in_slabs() ? empty_with_room(x[k]) : at::empty_like(x[k]));
      norm_loops::forward(x[k], a.scale, a.shift, options.negative_slope, y.back());
    }
    ctx->save_for_backward(saved);
    ctx->saved_data["statistics"] = static_cast<std::int64_t>(statistics);
    ctx->saved_data["groups"] = options.groups;
    ctx->saved_data["leak"] = options.negative_slope;
    ctx->saved_data["pass"] = as_value(context);
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list dy) {
    auto const saved = ctx->get_saved_variables();
    std::size_t const micro_batches = dy.size();
    auto const statistics = static_cast<Statistics>(ctx->saved_data["statistics"].toInt());
    ForwardContext const context = context_of(ctx->saved_data["pass"]);
    double const leak = ctx->saved_data["leak"].toDouble();
    at::Tensor const& gamma = saved[micro_batches];
    at::Tensor const& beta = saved[micro_batches + 1];
    std::vector<BatchStatistics> moments;
    std::vector<Affine> affine;
    for (auto set = saved.begin() + static_cast<std::ptrdiff_t>(micro_batches) + 2;
         set != saved.end(); set += 5) {
      moments.push_back({set[0], set[1]});
      affine.push_back({set[2], set[3], set[4]});
    }

    std::vector<at::Tensor> sums;  // of g and of g (x - mean), [n, 2C] of each part
    for (std::size_t k = 0; k < micro_batches; ++k) {
      auto const& a = affine[affine.size() == 1 ? 0 : k];
      dy[k] = dy[k].contiguous(context.layout);
      for (auto const& part : parts_of(context, saved[k])) {
        sums.push_back(norm_loops::backward_moments(
            planes_of(dy[k], part), planes_of(saved[k], part), a.scale, a.shift, a.center, leak));
      }
    }
    auto const voxels = static_cast<double>(voxels_of(context, saved.front()));
    auto const compute = norm_loops::compute_type(saved.front());
    std::vector<Gradients> of_set;
    if (statistics == Statistics::grouped) {
      of_set = grouped_gradients(context, sums, moments, ctx->saved_data["groups"].toInt(), voxels,
                                 gamma, compute);
    } else {
      double const count = statistics == Statistics::batch
                               ? voxels * static_cast<double>(context.total_samples)
                               : 0.0;
      of_set = {
          norm_coefficients::gradients(total(context, sums), count, moments[0], gamma, compute)};
    }

    variable_list gradients(micro_batches +
                            6);  // micro-batches, gamma, beta, and four that are no tensors
    for (std::size_t k = 0; k < micro_batches; ++k) {
      if (!ctx->needs_input_grad(k)) continue;
      std::size_t const set = affine.size() == 1 ? 0 : k;
      gradients[k] = norm_loops::backward(dy[k], saved[k], affine[set].scale, affine[set].shift,
                                          of_set[set].linear, of_set[set].constant, leak);
    }
    bool const frozen = !gamma.requires_grad();
    if (context.reducer != nullptr && !frozen) {
      context.reducer->set_total(gamma, of_set[0].dgamma);
      context.reducer->set_total(beta, of_set[0].dbeta);
    } else if (!frozen) {
      gradients[micro_batches] = of_set[0].dgamma;
      gradients[micro_batches + 1] = of_set[0].dbeta;
    }
    return gradients;
  }
};

/// Of this batch in running statistics (NormOptions::momentum).
norm_coefficients::Momentum momentum(ForwardContext const& context, NormOptions const& options) {
  if (context.statistics_weight >= 0.0) {
    return {.weight = context.statistics_weight, .first_is_whole = false};
  }
  double const batches = static_cast<double>(context.total_samples) / kSamplesOfMomentum;
  return {.weight = 1.0 - exact_exp(batches * exact_log(1.0 - options.momentum))};
}

/// Statistics of each micro-batch's samples.
/// @param sample_sums  [n, 2C] of x and x^2
BatchStatistics grouped_statistics(at::Tensor const& sample_sums, std::int64_t voxels,
                                   NormOptions const& options) {
  at::Tensor const sums = sample_sums / static_cast<double>(voxels);
  at::Tensor const mean = group_mean(sums.narrow(1, 0, options.channels), options.groups);
  at::Tensor const square =
      group_mean(sums.narrow(1, options.channels, options.channels), options.groups);
  at::Tensor const var = (square - mean * mean).clamp_min_(0.0);
  return {mean, (var + options.epsilon).rsqrt_()};
}

}  // namespace

NormAct::NormAct(NormOptions const& options) : options_(options) {
  if (options_.norm == Norm::instance) options_.groups = options_.channels;
  options_.groups = std::min(options_.groups, options_.channels);
  VOXCYCLE_REQUIRE(options_.norm == Norm::sync_batch || options_.norm == Norm::none ||
                       options_.channels % options_.groups == 0,
                   "group norm: " << options_.channels << " channels do not divide into "
                                  << options_.groups << " groups.");
  std::int64_t const channels = options_.channels;
  gamma = register_parameter("gamma", at::ones({channels}, parameter_options()));
  beta = register_parameter("beta", at::zeros({channels}, parameter_options()));
  running_mean = register_buffer("running_mean", at::zeros({channels}, parameter_options()));
  running_var = register_buffer("running_var", at::ones({channels}, parameter_options()));
}

std::vector<BatchStatistics> NormAct::take_statistics(ForwardContext const& context,
                                                      MicroBatches const& x) {
  if (options_.norm == Norm::none) {
    at::Tensor const zero = at::zeros({1, options_.channels}, gamma.options().dtype(at::kDouble));
    return {{zero, at::ones_like(zero)}};
  }
  if (options_.norm == Norm::sync_batch && !takes_batch(context)) {
    at::Tensor const var = running_var.to(at::kDouble).unsqueeze(0) + options_.epsilon;
    return {{running_mean.to(at::kDouble).unsqueeze(0), var.rsqrt()}};
  }
  std::vector<at::Tensor> sums;
  for (auto const& micro_batch : x) {
    for (auto const& part : parts_of(context, micro_batch))
      sums.push_back(norm_loops::moments(planes_of(micro_batch, part)));
  }
  std::int64_t const voxels = voxels_of(context, x.front());
  if (options_.norm == Norm::sync_batch) {
    auto const count = static_cast<double>(context.total_samples) * static_cast<double>(voxels);
    return {norm_coefficients::of_batch(total(context, sums), count, options_.epsilon,
                                        momentum(context, options_), running_mean, running_var)};
  }
  std::vector<BatchStatistics> moments;
  for (auto const& of_micro_batch : over_parts(context, sums))
    moments.push_back(grouped_statistics(of_micro_batch, voxels, options_));
  return moments;
}

MicroBatches NormAct::forward(ForwardContext const& context, MicroBatches x) {
  std::vector<BatchStatistics> moments;
  {
    at::NoGradGuard const no_grad;
    bool const again = context.statistics != nullptr && context.statistics->replaying();
    moments = again ? context.statistics->next() : take_statistics(context, x);
    if (context.statistics != nullptr && !again) context.statistics->add(moments);
  }
  if (!at::GradMode::is_enabled()) {
    auto const affine = affine_of(moments, gamma, beta, x.front());
    return without_gradient(std::move(x), affine, options_.negative_slope);
  }
  Statistics statistics = Statistics::grouped;
  if (options_.norm == Norm::none) statistics = Statistics::fixed;
  if (options_.norm == Norm::sync_batch) {
    statistics = takes_batch(context) ? Statistics::batch : Statistics::fixed;
  }
  return NormActFunction::apply(at::TensorList(x), gamma, beta, moments, statistics, options_,
                                context);
}

bool NormAct::takes_batch(ForwardContext const& context) const {
  return context.training && gamma.requires_grad();
}

Script NormAct::script() const {
  return {"NormAct",
          {{"norm", to_string(options_.norm)},
           {"groups", options_.groups},
           {"epsilon", options_.epsilon},
           {"negative_slope", options_.negative_slope}}};
}

}  // namespace voxcycle
