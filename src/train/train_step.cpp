// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/train_step.hpp"

#include "voxcycle/comm/exact_sum.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/timer.hpp"
#include "voxcycle/grid/units.hpp"

#include <cmath>

#include <torch/torch.h>

namespace voxcycle {
namespace {

/// The rank's nu, one tensor a unit; a rank without units takes part with an empty one.
Units local_units(StepContext const& c, LocalBatch const& batch) {
  if (!batch.nu.empty()) return batch.nu;
  auto const& n = c.grid.voxels;
  return {at::empty({0, 1, n[0], n[1], n[2]}, at::kFloat)};
}

/// Samples whose loss is not finite, in words; empty if all are.
std::string describe_bad_samples(LocalBatch const& batch, std::vector<LossTerms> const& terms) {
  std::string text;
  for (std::size_t k = 0; k < batch.origin.size(); ++k) {
    for (std::size_t i = 0; i < batch.origin[k].size(); ++i) {
      double const value = terms[k].values[static_cast<std::int64_t>(i)].item<double>();
      if (std::isfinite(value)) continue;
      auto const& origin = batch.origin[k][i];
      text += format(" %ld", static_cast<long>(origin.index));
      if (origin.set > 0) text += format(" (data set %d)", origin.set + 1);
    }
  }
  if (text.empty()) return text;
  return format(
      "the loss is not finite for the samples%s. Lower the rate, or look at these samples.",
      text.c_str());
}

/// Loss of unit k of the batch; a rank without units has nothing to evaluate.
LossTerms evaluate_unit(Loss const& loss, LocalBatch const& batch, std::size_t k,
                        at::Tensor const& u, at::Tensor const& nu) {
  if (u.size(0) == 0) return {at::empty({0}, at::kDouble), at::empty_like(u)};
  auto const unit_of = [&](std::vector<at::Tensor> const& units) {
    return units.empty() ? at::Tensor() : units[k].to(u.scalar_type());
  };
  return loss.evaluate({u.detach().contiguous(), nu, unit_of(batch.u_ref)});
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

StepResult train_step(StepContext const& c, LocalBatch const& batch, double rate) {
  StepResult result;
  Timer timer;
  auto const lap = [&](double& part) {
    part = timer.seconds();
    timer.restart();
  };

  Pass const pass{.comm = c.comm,
                  .reducer = &c.reducer,
                  .dtype = c.dtype,
                  .total_units = unit_count(c.batch, c.unit_size),
                  .total_samples = c.batch};
  c.reducer.begin(pass.total_units);
  Units nu = local_units(c, batch);
  if (c.dtype == at::kDouble) nu = each(nu, [](auto& x) { return x.to(at::kDouble); });
  Units const u =
      c.network.forward(pass, c.grid, each(nu, [](at::Tensor const& x) { return x.log(); }));
  lap(result.times.forward);

  std::vector<LossTerms> terms;
  std::vector<at::Tensor> sums;
  std::vector<at::Tensor> slopes;
  for (std::size_t k = 0; k < u.size(); ++k) {
    terms.push_back(evaluate_unit(c.loss, batch, k, u[k], nu[k]));
    sums.push_back(terms.back().values.sum().view({1}));
    slopes.push_back(terms.back().gradient.div_(static_cast<double>(c.batch)));
  }
  result.loss = exact_sum(c.comm, at::stack(sums), pass.total_units).item<double>() /
                static_cast<double>(c.batch);
  if (!std::isfinite(result.loss)) {
    c.comm.agree_on_error(describe_bad_samples(batch, terms));
    throw Error("the loss is not finite, though each sample's is. Lower the rate.");
  }
  lap(result.times.loss);

  torch::autograd::backward(u, slopes);
  lap(result.times.backward);
  c.reducer.finish();
  lap(result.times.reduction);
  c.optimizer.step(rate);
  c.averaged.update();
  lap(result.times.update);
  return result;
}

}  // namespace voxcycle
