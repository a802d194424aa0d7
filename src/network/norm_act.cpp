// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/norm_act.hpp"

#include "voxcycle/comm/exact_sum.hpp"
#include "voxcycle/core/error.hpp"

#include <algorithm>

#include "network/norm_loops.hpp"
#include <torch/torch.h>

namespace voxcycle {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// How statistics were taken: decides what depends on x in backward.
enum class Statistics { batch, grouped, fixed };

/// Mean and 1/sqrt(var + epsilon), float64: [1, C] common to all samples, or [n, C] a sample.
struct Moments {
  at::Tensor mean;
  at::Tensor inverse_std;
};

/// Sums of each unit's samples, as terms of an exact sum: [units, columns].
at::Tensor unit_terms(std::vector<at::Tensor> const& sample_sums) {
  std::vector<at::Tensor> rows;
  for (auto const& sums : sample_sums) rows.push_back(sums.sum(0));
  return at::stack(rows);
}

/// [n, C] -> mean over the channels of each group, [n, C].
at::Tensor group_mean(at::Tensor const& values, std::int64_t groups) {
  std::int64_t const n = values.size(0);
  std::int64_t const channels = values.size(1);
  return values.view({n, groups, channels / groups})
      .mean(2, /*keepdim=*/true)
      .expand({n, groups, channels / groups})
      .reshape({n, channels});
}

std::int64_t voxels_of(at::Tensor const& x) {
  return x.size(2) * x.size(3) * x.size(4);
}

struct NormActFunction : torch::autograd::Function<NormActFunction> {
  static variable_list forward(AutogradContext* context, at::TensorList x, at::Tensor const& gamma,
                               at::Tensor const& beta, std::vector<Moments> const& moments,
                               Statistics statistics, NormOptions const& options,
                               Pass const* pass) {
    at::Tensor const g = gamma.to(at::kDouble);
    at::Tensor const b = beta.to(at::kDouble);
    variable_list y;
    variable_list saved(x.begin(), x.end());
    for (std::size_t k = 0; k < x.size(); ++k) {
      at::Tensor const scale = g * moments[k].inverse_std;
      at::Tensor const shift = b - moments[k].mean * scale;
      y.push_back(norm_loops::forward(x[k], scale, shift, options.negative_slope));
      saved.insert(saved.end(), {moments[k].mean, moments[k].inverse_std});
    }
    saved.insert(saved.end(), {gamma, beta});
    context->save_for_backward(saved);
    context->saved_data["statistics"] = static_cast<std::int64_t>(statistics);
    context->saved_data["groups"] = options.groups;
    context->saved_data["slope"] = options.negative_slope;
    context->saved_data["pass"] = reinterpret_cast<std::int64_t>(pass);
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list dy) {
    auto const saved = context->get_saved_variables();
    std::size_t const units = dy.size();
    auto const statistics = static_cast<Statistics>(context->saved_data["statistics"].toInt());
    auto const& pass = *reinterpret_cast<Pass const*>(context->saved_data["pass"].toInt());
    double const slope = context->saved_data["slope"].toDouble();
    std::int64_t const groups = context->saved_data["groups"].toInt();
    at::Tensor const& gamma = saved[3 * units];
    at::Tensor const& beta = saved[3 * units + 1];
    at::Tensor const g = gamma.to(at::kDouble);
    at::Tensor const b = beta.to(at::kDouble);
    std::int64_t const channels = gamma.numel();

    // Per sample: sum of g and of g * xhat, [n, 2C].
    std::vector<at::Tensor> sums;
    for (std::size_t k = 0; k < units; ++k) {
      at::Tensor const& mean = saved[units + 2 * k];
      at::Tensor const& inverse_std = saved[units + 2 * k + 1];
      at::Tensor const scale = g * inverse_std;
      dy[k] = dy[k].contiguous(at::MemoryFormat::ChannelsLast3d);
      at::Tensor moments =
          norm_loops::backward_moments(dy[k], saved[k], scale, b - mean * scale, mean, slope);
      moments.narrow(1, channels, channels).mul_(inverse_std);
      sums.push_back(moments);
    }
    at::Tensor const totals = exact_sum(pass.comm, unit_terms(sums), pass.total_units);
    at::Tensor const dbeta = totals.narrow(0, 0, channels).to(beta.scalar_type());
    at::Tensor const dgamma = totals.narrow(0, channels, channels).to(gamma.scalar_type());

    variable_list gradients(units + 6);  // units, gamma, beta, and four that are no tensors
    for (std::size_t k = 0; k < units; ++k) {
      if (!context->needs_input_grad(k)) continue;
      at::Tensor const& mean = saved[units + 2 * k];
      at::Tensor const& inverse_std = saved[units + 2 * k + 1];
      // dx = inverse_std (gamma g - k1 - xhat k2): k1, k2 are the means of gamma g and
      // gamma g xhat over the voxels that share statistics.
      at::Tensor k1 = at::zeros_like(mean);
      at::Tensor k2 = at::zeros_like(mean);
      auto const voxels = static_cast<double>(voxels_of(saved[k]));
      if (statistics == Statistics::batch) {
        double const count = voxels * static_cast<double>(pass.total_samples);
        k1 = (g * totals.narrow(0, 0, channels) / count).unsqueeze(0);
        k2 = (g * totals.narrow(0, channels, channels) / count).unsqueeze(0);
      } else if (statistics == Statistics::grouped) {
        k1 = group_mean(g * sums[k].narrow(1, 0, channels), groups) / voxels;
        k2 = group_mean(g * sums[k].narrow(1, channels, channels), groups) / voxels;
      }
      at::Tensor const scale = g * inverse_std;
      at::Tensor const linear = -(inverse_std * inverse_std * k2);
      at::Tensor const constant = -(inverse_std * k1) - mean * linear;
      gradients[k] =
          norm_loops::backward(dy[k], saved[k], scale, b - mean * scale, linear, constant, slope);
    }
    if (pass.reducer != nullptr) {
      pass.reducer->set_total(gamma, dgamma);
      pass.reducer->set_total(beta, dbeta);
    } else {
      gradients[units] = dgamma;
      gradients[units + 1] = dbeta;
    }
    return gradients;
  }
};

/// Statistics over all samples of all ranks; updates the running ones.
Moments batch_moments(Pass const& pass, Units const& x, NormOptions const& options,
                      at::Tensor& running_mean, at::Tensor& running_var) {
  std::vector<at::Tensor> sums;
  for (auto const& unit : x) sums.push_back(norm_loops::moments(unit));
  at::Tensor const totals = exact_sum(pass.comm, unit_terms(sums), pass.total_units);
  auto const count =
      static_cast<double>(pass.total_samples) * static_cast<double>(voxels_of(x.front()));
  at::Tensor const mean = totals.narrow(0, 0, options.channels) / count;
  at::Tensor const var =
      (totals.narrow(0, options.channels, options.channels) / count - mean * mean).clamp_min_(0.0);
  double const unbiased = count / std::max(1.0, count - 1.0);
  running_mean.lerp_(mean.to(running_mean.scalar_type()), options.momentum);
  running_var.lerp_((var * unbiased).to(running_var.scalar_type()), options.momentum);
  return {mean.unsqueeze(0), (var + options.epsilon).rsqrt_().unsqueeze(0)};
}

Moments grouped_moments(at::Tensor const& x, NormOptions const& options) {
  at::Tensor const sums = norm_loops::moments(x) / static_cast<double>(voxels_of(x));
  at::Tensor const mean = group_mean(sums.narrow(1, 0, options.channels), options.groups);
  at::Tensor const square =
      group_mean(sums.narrow(1, options.channels, options.channels), options.groups);
  at::Tensor const var = (square - mean * mean).clamp_min_(0.0);
  return {mean, (var + options.epsilon).rsqrt_()};
}

}  // namespace

Norm parse_norm(std::string_view name) {
  for (auto norm : {Norm::sync_batch, Norm::group, Norm::instance, Norm::none}) {
    if (name == to_string(norm)) return norm;
  }
  throw Error("norm '" + std::string(name) +
              "' is unknown. Choose one of sync_batch, group, instance, none.");
}

std::string to_string(Norm norm) {
  switch (norm) {
    case Norm::sync_batch:
      return "sync_batch";
    case Norm::group:
      return "group";
    case Norm::instance:
      return "instance";
    case Norm::none:
      return "none";
  }
  throw Error("unknown norm.");
}

NormAct::NormAct(NormOptions const& options) : options_(options) {
  if (options_.norm == Norm::instance) options_.groups = options_.channels;
  options_.groups = std::min(options_.groups, options_.channels);
  VOXCYCLE_REQUIRE(options_.norm == Norm::sync_batch || options_.norm == Norm::none ||
                       options_.channels % options_.groups == 0,
                   "group norm: " << options_.channels << " channels do not divide into "
                                  << options_.groups << " groups.");
  std::int64_t const channels = options_.channels;
  gamma = register_parameter("gamma", at::ones({channels}));
  beta = register_parameter("beta", at::zeros({channels}));
  running_mean = register_buffer("running_mean", at::zeros({channels}));
  running_var = register_buffer("running_var", at::ones({channels}));
}

Units NormAct::forward(Pass const& pass, Units const& x) {
  std::vector<Moments> moments;
  Statistics statistics = Statistics::fixed;
  {
    torch::NoGradGuard const no_grad;
    if (options_.norm == Norm::sync_batch && pass.training) {
      statistics = Statistics::batch;
      moments.assign(x.size(), batch_moments(pass, x, options_, running_mean, running_var));
    } else if (options_.norm == Norm::sync_batch) {
      at::Tensor const var = running_var.to(at::kDouble).unsqueeze(0);
      moments.assign(
          x.size(), {running_mean.to(at::kDouble).unsqueeze(0), (var + options_.epsilon).rsqrt_()});
    } else if (options_.norm == Norm::none) {
      at::Tensor const zero = at::zeros({1, options_.channels}, at::kDouble);
      moments.assign(x.size(), {zero, at::ones_like(zero)});
    } else {
      statistics = Statistics::grouped;
      for (auto const& unit : x) moments.push_back(grouped_moments(unit, options_));
    }
  }
  return NormActFunction::apply(at::TensorList(x), gamma, beta, moments, statistics, options_,
                                &pass);
}

}  // namespace voxcycle
