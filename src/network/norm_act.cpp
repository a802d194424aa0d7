// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/norm_act.hpp"

#include "voxcycle/comm/exact_sum.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/exact_math.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/network/statistics_record.hpp"

#include <algorithm>

#include "network/norm_loops.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

namespace voxcycle {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// How statistics were taken: decides what depends on x in backward.
enum class Statistics { batch, grouped, fixed };

/// y = leaky(scale x + shift), in the precision that the loops compute in.
struct Affine {
  at::Tensor scale;
  at::Tensor shift;
};

/// @param compute  device and type that the loops compute in
Affine affine_of(Moments const& moments, at::Tensor const& gamma, at::Tensor const& beta,
                 at::TensorOptions const& compute) {
  at::Tensor const scale = gamma * moments.inverse_std;
  return {scale.to(compute), (beta - moments.mean * scale).to(compute)};
}

at::TensorOptions compute_options(at::Tensor const& x) {
  return at::TensorOptions(x.device()).dtype(norm_loops::compute_type(x));
}

/// What statistics and coefficients are computed in: float64 on the CPU, wherever the fields are.
/// From a GPU all come in one copy, since the host waits for each.
std::vector<at::Tensor> on_host(std::vector<at::Tensor> const& values) {
  std::vector<at::Tensor> here;
  if (values.empty() || values.front().is_cpu()) {
    for (auto const& x : values) here.push_back(x.to(at::kDouble));
    return here;
  }
  std::vector<std::int64_t> rows;
  for (auto const& x : values) rows.push_back(x.size(0));
  return at::cat(values).to(at::kCPU, at::kDouble).split_with_sizes(rows);
}

/// Sums of each unit's samples, as terms of an exact sum: [units, columns].
at::Tensor unit_terms(std::vector<at::Tensor> const& sample_sums) {
  std::int64_t const columns = sample_sums.front().size(1);
  at::Tensor const terms = at::zeros({std::ssize(sample_sums), columns}, at::kDouble);
  auto* term = terms.mutable_data_ptr<double>();
  for (auto const& sums : sample_sums) {
    auto const* sum = sums.const_data_ptr<double>();
    for (std::int64_t i = 0; i < sums.numel(); ++i) term[i % columns] += sum[i];
    term += columns;
  }
  return terms;
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
  /// @param moments  one set for all units, or one a unit (Statistics::grouped)
  static variable_list forward(AutogradContext* context, at::TensorList x, at::Tensor const& gamma,
                               at::Tensor const& beta, std::vector<Moments> const& moments,
                               Statistics statistics, NormOptions const& options,
                               Pass const* pass) {
    auto const weights = on_host({gamma, beta});
    auto const compute = compute_options(x.front());
    variable_list saved(x.begin(), x.end());
    saved.insert(saved.end(), {gamma, beta, weights[0]});
    std::vector<Affine> affine;
    for (auto const& set : moments) {
      affine.push_back(affine_of(set, weights[0], weights[1], compute));
      saved.insert(saved.end(),
                   {set.mean, set.inverse_std, affine.back().scale, affine.back().shift});
    }
    variable_list y;
    for (std::size_t k = 0; k < x.size(); ++k) {
      auto const& [scale, shift] = affine[affine.size() == 1 ? 0 : k];
      y.push_back(norm_loops::forward(x[k], scale, shift, options.negative_slope));
    }
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
    at::Tensor const& gamma = saved[units];
    at::Tensor const& beta = saved[units + 1];
    at::Tensor const& g = saved[units + 2];  // gamma on the host
    std::size_t const sets = (saved.size() - units - 3) / 4;
    auto const set_of = [&](std::size_t k) { return &saved[units + 3 + 4 * (sets == 1 ? 0 : k)]; };
    std::int64_t const channels = gamma.numel();
    auto const compute = compute_options(saved.front());

    // Per sample: sum of g and of g * xhat, [n, 2C].
    std::vector<at::Tensor> sums;
    for (std::size_t k = 0; k < units; ++k) {
      auto const* set = set_of(k);
      dy[k] = dy[k].contiguous(pass.layout);
      at::Tensor const mean = set[0].to(dy[k].device());
      sums.push_back(norm_loops::backward_moments(dy[k], saved[k], set[2], set[3], mean, slope));
    }
    sums = on_host(sums);
    for (std::size_t k = 0; k < units; ++k) {
      sums[k].narrow(1, channels, channels).mul_(set_of(k)[1]);
    }
    at::Tensor const totals = exact_sum(pass.comm, unit_terms(sums), pass.total_units);
    at::Tensor const dbeta = totals.narrow(0, 0, channels).to(beta.options());
    at::Tensor const dgamma = totals.narrow(0, channels, channels).to(gamma.options());

    // dx = inverse_std (gamma g - k1 - xhat k2) = scale g + linear x + constant: k1, k2 are the
    // means of gamma g and gamma g xhat over the voxels that share statistics.
    auto const voxels = static_cast<double>(voxels_of(saved.front()));
    Affine rest;  // linear, constant
    auto const set_rest = [&](std::size_t k, at::Tensor const& k1, at::Tensor const& k2) {
      auto const* set = set_of(k);
      at::Tensor const linear = -(set[1] * set[1] * k2);
      rest = {linear.to(compute), (-(set[1] * k1) - set[0] * linear).to(compute)};
    };
    if (statistics == Statistics::batch) {
      double const count = voxels * static_cast<double>(pass.total_samples);
      set_rest(0, (g * totals.narrow(0, 0, channels) / count).unsqueeze(0),
               (g * totals.narrow(0, channels, channels) / count).unsqueeze(0));
    } else if (statistics == Statistics::fixed) {
      at::Tensor const zero = at::zeros({1, channels}, compute);
      rest = {zero, zero};
    }
    variable_list gradients(units + 6);  // units, gamma, beta, and four that are no tensors
    for (std::size_t k = 0; k < units; ++k) {
      if (!context->needs_input_grad(k)) continue;
      if (statistics == Statistics::grouped) {
        set_rest(k, group_mean(g * sums[k].narrow(1, 0, channels), groups) / voxels,
                 group_mean(g * sums[k].narrow(1, channels, channels), groups) / voxels);
      }
      auto const* set = set_of(k);
      gradients[k] =
          norm_loops::backward(dy[k], saved[k], set[2], set[3], rest.scale, rest.shift, slope);
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

/// Running statistics move towards `fresh` by its weight; with 1 they forget all, NaN too.
void take_in(at::Tensor& running, at::Tensor const& fresh, double weight) {
  if (weight == 1.0) {
    running.copy_(fresh);
  } else {
    running.lerp_(fresh.to(running.options()), weight);
  }
}

/// Of this batch in the running statistics (NormOptions::momentum).
double weight_of_batch(Pass const& pass, NormOptions const& options, at::Tensor const& running_mean,
                       at::Tensor const& running_var) {
  if (pass.statistics_weight >= 0.0) return pass.statistics_weight;
  auto const running = on_host({running_mean, running_var});
  bool const untouched = running[0].eq(0).all().item<bool>() && running[1].eq(1).all().item<bool>();
  if (untouched) return 1.0;
  double const batches = static_cast<double>(pass.total_samples) / kSamplesOfMomentum;
  return 1.0 - exact_exp(batches * exact_log(1.0 - options.momentum));
}

/// Statistics over all samples of all ranks; updates the running ones.
Moments batch_moments(Pass const& pass, Units const& x, NormOptions const& options,
                      at::Tensor& running_mean, at::Tensor& running_var) {
  std::vector<at::Tensor> sums;
  for (auto const& unit : x) sums.push_back(norm_loops::moments(unit));
  at::Tensor const totals = exact_sum(pass.comm, unit_terms(on_host(sums)), pass.total_units);
  auto const count =
      static_cast<double>(pass.total_samples) * static_cast<double>(voxels_of(x.front()));
  at::Tensor const mean = totals.narrow(0, 0, options.channels) / count;
  at::Tensor const var =
      (totals.narrow(0, options.channels, options.channels) / count - mean * mean).clamp_min_(0.0);
  double const unbiased = count / std::max(1.0, count - 1.0);
  double const weight = weight_of_batch(pass, options, running_mean, running_var);
  take_in(running_mean, mean, weight);
  take_in(running_var, var * unbiased, weight);
  return {mean.unsqueeze(0), (var + options.epsilon).rsqrt_().unsqueeze(0)};
}

/// @param sample_sums  of x and x^2, on the host
Moments grouped_moments(at::Tensor const& sample_sums, std::int64_t voxels,
                        NormOptions const& options) {
  at::Tensor const sums = sample_sums / static_cast<double>(voxels);
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

std::vector<Moments> NormAct::take_moments(Pass const& pass, Units const& x) {
  if (options_.norm == Norm::sync_batch && pass.training) {
    return {batch_moments(pass, x, options_, running_mean, running_var)};
  }
  if (options_.norm == Norm::sync_batch) {
    auto const running = on_host({running_mean, running_var});
    at::Tensor const var = running[1].unsqueeze(0);
    return {{running[0].unsqueeze(0), (var + options_.epsilon).rsqrt_()}};
  }
  if (options_.norm == Norm::none) {
    at::Tensor const zero = at::zeros({1, options_.channels}, at::kDouble);
    return {{zero, at::ones_like(zero)}};
  }
  std::vector<at::Tensor> sums;
  for (auto const& unit : x) sums.push_back(norm_loops::moments(unit));
  std::vector<Moments> moments;
  for (auto const& of_unit : on_host(sums)) {
    moments.push_back(grouped_moments(of_unit, voxels_of(x.front()), options_));
  }
  return moments;
}

Units NormAct::forward(Pass const& pass, Units const& x) {
  std::vector<Moments> moments;
  {
    at::NoGradGuard const no_grad;
    bool const again = pass.statistics != nullptr && pass.statistics->replaying();
    moments = again ? pass.statistics->next() : take_moments(pass, x);
    if (pass.statistics != nullptr && !again) pass.statistics->add(moments);
  }
  Statistics statistics = Statistics::grouped;
  if (options_.norm == Norm::none) statistics = Statistics::fixed;
  if (options_.norm == Norm::sync_batch) {
    statistics = pass.training ? Statistics::batch : Statistics::fixed;
  }
  return NormActFunction::apply(at::TensorList(x), gamma, beta, moments, statistics, options_,
                                &pass);
}

Field NormAct::plan(NormOptions const& o, Tape& tape, Field const& x) {
  tape.weights(2 * o.channels);
  if (o.norm == Norm::sync_batch) tape.exact_sum(2 * o.channels);
  tape.exact_sum(2 * o.channels);  // in backward, with any norm: slopes of gamma and beta
  // Backward finds the sign of leaky's argument again from x.
  return tape.record(tape.features(x.grid, x.channels), {.inputs = {x}, .kept = {x.memory}});
}

std::string NormAct::script() const {
  std::string normalised;
  switch (options_.norm) {
    case Norm::sync_batch:
      normalised = format(
          "torch.batch_norm(x, self.gamma, self.beta, self.running_mean, self.running_var, "
          "False, 0., %.17g, False)",
          options_.epsilon);
      break;
    case Norm::group:
    case Norm::instance:
      normalised = format("torch.group_norm(x, %ld, self.gamma, self.beta, %.17g, False)",
                          static_cast<long>(options_.groups), options_.epsilon);
      break;
    case Norm::none:
      normalised = "x * self.gamma.reshape([1, -1, 1, 1, 1]) + self.beta.reshape([1, -1, 1, 1, 1])";
      break;
  }
  return "def forward(self, x: Tensor) -> Tensor:\n    return torch.leaky_relu(" + normalised +
         format(", %.17g)\n", options_.negative_slope);
}

}  // namespace voxcycle
