// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/gradient_reducer.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/rehearsal.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "comm/gradient_buckets.hpp"
#include "comm/micro_batch_gradients.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {

struct GradientReducer::Impl {
  Communicator const& comm;
  std::vector<at::Tensor> parameters;
  GradientMode mode;
  std::int64_t total_micro_batches = 1;
  std::unordered_map<void const*, std::size_t> slot_of;
  std::unique_ptr<MicroBatchGradients> micro_batches;  ///< exact mode
  std::vector<at::Tensor> local_sums;                  ///< fast mode, per slot: in memory order
  std::vector<at::Tensor> totals;                      ///< per slot: already summed over all ranks
  GradientBuckets buckets;                             ///< fast mode
  at::Tensor exponents;                                ///< exact mode: exponents of the newest sums

  std::size_t slot(at::Tensor const& parameter) const {
    auto const found = slot_of.find(parameter.unsafeGetTensorImpl());
    VOXCYCLE_REQUIRE(found != slot_of.end(), "gradient reducer: an unknown parameter.");
    return found->second;
  }

  /// The parameters that a rank has micro-batches of.
  MicroBatchGradients::Parts touched() const {
    if (comm.size() == 1) return micro_batches->touched();  // waits for nothing
    at::Tensor const host = on_host(exponents);
    MicroBatchGradients::Parts parts;
    for (std::size_t s = 0; s < parameters.size(); ++s)
      if (host.const_data_ptr<std::int64_t>()[s] != MicroBatchGradients::untouched)
        parts.push_back(s);
    return parts;
  }

  void sum_exactly();
};

void GradientReducer::Impl::sum_exactly() {
  exponents = micro_batches->exponents();
  comm.all_reduce(exponents, ReduceOperation::max);
  auto const parts = touched();
  if (parts.empty()) return;
  int const bits =
      62 -
      std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(1, total_micro_batches)));
  at::Tensor const units = exponents - bits;
  at::Tensor fixed = micro_batches->sums(parts, units);
  comm.all_reduce(fixed, ReduceOperation::sum);
  auto const gradients = micro_batches->gradients(fixed, parts, units);
  for (std::size_t k = 0; k < parts.size(); ++k) parameters[parts[k]].mutable_grad() = gradients[k];
}

GradientReducer::GradientReducer(Communicator const& comm, std::vector<at::Tensor> parameters,
                                 GradientMode mode)
    : impl_(std::make_unique<Impl>(
          Impl{comm, parameters, mode, 1, {}, nullptr, {}, {}, GradientBuckets(comm), {}})) {
  for (std::size_t s = 0; s < parameters.size(); ++s) {
    VOXCYCLE_REQUIRE(parameters[s].is_non_overlapping_and_dense(),
                     "gradient reducer: parameter " << s << " is strided.");
    impl_->slot_of[parameters[s].unsafeGetTensorImpl()] = s;
  }
  if (mode == GradientMode::exact) impl_->micro_batches = make_micro_batch_gradients(parameters);
  begin(1);
}

GradientReducer::~GradientReducer() = default;

void GradientReducer::begin(std::int64_t total_micro_batches) {
  impl_->total_micro_batches = total_micro_batches;
  impl_->buckets.begin();
  std::int64_t const ranks = impl_->comm.size();
  if (impl_->micro_batches) impl_->micro_batches->begin((total_micro_batches + ranks - 1) / ranks);
  impl_->local_sums.assign(impl_->parameters.size(), {});
  impl_->totals.assign(impl_->parameters.size(), {});
}

void GradientReducer::add_micro_batch(at::Tensor const& parameter, at::Tensor const& gradient) {
  at::NoGradGuard const no_grad;
  std::size_t const s = impl_->slot(parameter);
  if (impl_->mode == GradientMode::exact) return impl_->micro_batches->add(s, gradient);
  at::Tensor const values =
      at::empty_like(parameter).copy_(gradient).as_strided({parameter.numel()}, {1});
  auto& sum = impl_->local_sums[s];
  if (sum.defined()) {
    sum.add_(values);
  } else {
    sum = values;
  }
}

void GradientReducer::set_total(at::Tensor const& parameter, at::Tensor const& gradient) {
  impl_->totals[impl_->slot(parameter)] = gradient.to(parameter.options());
}

void GradientReducer::close(at::Tensor const& parameter) {
  if (impl_->mode == GradientMode::exact) return;
  at::NoGradGuard const no_grad;
  auto const& sum = impl_->local_sums[impl_->slot(parameter)];
  impl_->buckets.add(parameter,
                     sum.defined() ? sum : at::zeros({parameter.numel()}, parameter.options()));
}

void GradientReducer::sum_up() {
  at::NoGradGuard const no_grad;
  for (std::size_t s = 0; s < impl_->parameters.size(); ++s) {
    impl_->parameters[s].mutable_grad() = impl_->totals[s];
  }
  impl_->mode == GradientMode::exact ? impl_->sum_exactly() : impl_->buckets.finish();
  begin(impl_->total_micro_batches);  // lets the micro-batches go
}

at::Tensor GradientReducer::finite() const {
  at::NoGradGuard const no_grad;
  if (impl_->mode == GradientMode::fast) return impl_->buckets.finite();
  return impl_->exponents.ne(MicroBatchGradients::not_finite).all().view({1});
}

void GradientReducer::require_finite() const {
  at::Tensor const all = finite();
  if (all.is_meta() || all.item<bool>()) return;
  std::string which = "a gradient";
  if (impl_->mode == GradientMode::exact) {
    at::Tensor const first = impl_->exponents.eq(MicroBatchGradients::not_finite).nonzero()[0];
    which = "the gradient of parameter " + std::to_string(first.item<std::int64_t>());
  }
  throw NotFiniteGradient(which +
                          " is not finite. Lower the rate or look at the samples of this step.");
}

void GradientReducer::finish() {
  sum_up();
  require_finite();
}

}  // namespace voxcycle
