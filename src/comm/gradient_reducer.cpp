// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/gradient_reducer.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "comm/gradient_buckets.hpp"
#include "comm/micro_batch_gradients.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

constexpr std::int64_t kUntouched = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kAllZero = kUntouched + 1;
constexpr std::int64_t kNotFinite = std::numeric_limits<std::int64_t>::max();

/// Smallest e with |x| < 2^e for all x, of which `pattern` is the largest (MicroBatchGradients).
template <class T, class Bits>
std::int64_t exponent_above(std::int64_t pattern) {
  if (pattern < 0) return kUntouched;
  T const magnitude = std::bit_cast<T>(static_cast<Bits>(pattern));
  if (magnitude == T{0}) return kAllZero;
  if (!std::isfinite(magnitude)) return kNotFinite;
  constexpr int minimum = -900;  // so that the scale is a float64
  return std::max(std::ilogb(magnitude) + 1, minimum);
}

}  // namespace

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

  std::size_t slot(at::Tensor const& parameter) const {
    auto const found = slot_of.find(parameter.unsafeGetTensorImpl());
    VOXCYCLE_REQUIRE(found != slot_of.end(), "gradient reducer: an unknown parameter.");
    return found->second;
  }

  /// Of each slot's values on all ranks.
  std::vector<std::int64_t> common_exponents() {
    auto const patterns = micro_batches->largest_patterns();
    at::Tensor exponents = at::empty({std::ssize(parameters)}, at::kLong);
    auto* exponent = exponents.mutable_data_ptr<std::int64_t>();
    for (std::size_t s = 0; s < parameters.size(); ++s) {
      exponent[s] = parameters[s].scalar_type() == at::kDouble
                        ? exponent_above<double, std::int64_t>(patterns[s])
                        : exponent_above<float, std::int32_t>(patterns[s]);
    }
    comm.all_reduce(exponents, ReduceOperation::max);
    for (std::size_t s = 0; s < parameters.size(); ++s) {
      if (exponent[s] != kNotFinite) continue;
      throw NotFiniteGradient("the gradient of parameter " + std::to_string(s) +
                              " is not finite. Lower the rate or look at the samples of this "
                              "step.");
    }
    return {exponent, exponent + parameters.size()};
  }

  void finish_exact();
};

void GradientReducer::Impl::finish_exact() {
  auto const exponents = common_exponents();
  int const bits =
      62 -
      std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(1, total_micro_batches)));
  std::vector<MicroBatchGradients::Part> parts;
  for (std::size_t s = 0; s < parameters.size(); ++s) {
    if (exponents[s] == kAllZero) parameters[s].mutable_grad() = at::zeros_like(parameters[s]);
    if (exponents[s] > kAllZero) parts.push_back({s, static_cast<int>(exponents[s]) - bits});
  }
  if (parts.empty()) return;
  at::Tensor fixed = micro_batches->sums(parts);
  comm.all_reduce(fixed, ReduceOperation::sum);
  auto const gradients = micro_batches->gradients(fixed, parts);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    parameters[parts[k].parameter].mutable_grad() = gradients[k];
  }
}

GradientReducer::GradientReducer(Communicator const& comm, std::vector<at::Tensor> parameters,
                                 GradientMode mode)
    : impl_(std::make_unique<Impl>(
          Impl{comm, parameters, mode, 1, {}, nullptr, {}, {}, GradientBuckets(comm)})) {
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

void GradientReducer::finish() {
  at::NoGradGuard const no_grad;
  for (std::size_t s = 0; s < impl_->parameters.size(); ++s) {
    impl_->parameters[s].mutable_grad() = impl_->totals[s];
  }
  impl_->mode == GradientMode::exact ? impl_->finish_exact() : impl_->buckets.finish();
  begin(impl_->total_micro_batches);  // lets the micro-batches go
}

}  // namespace voxcycle
