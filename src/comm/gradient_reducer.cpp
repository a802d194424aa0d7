// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/gradient_reducer.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/parallel.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "comm/fixed_point.hpp"
#include "comm/fixed_point_device.hpp"
#include "comm/gradient_buckets.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

constexpr std::int64_t kUntouched = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kAllZero = kUntouched + 1;
constexpr std::int64_t kNotFinite = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kPiece = 1 << 11;

/// All values of a dense tensor in memory order.
at::Tensor flat(at::Tensor const& dense) {
  return dense.as_strided({dense.numel()}, {1});
}

template <class T>
fixed_point::Loops<T> const& loops() {
  if constexpr (std::is_same_v<T, float>) {
    return fixed_point::table().f32;
  } else {
    return fixed_point::table().f64;
  }
}

/// Largest bit pattern of |x|, in the bits of its type.
template <class T>
std::int64_t largest_pattern(at::Tensor const& x) {
  return loops<T>().largest_pattern(x.const_data_ptr<T>(), x.numel());
}

/// Smallest e with |x| < 2^e for all x, of which `pattern` is the largest.
template <class T, class Bits>
std::int64_t exponent_above(std::int64_t pattern) {
  T const magnitude = std::bit_cast<T>(static_cast<Bits>(pattern));
  if (magnitude == T{0}) return kAllZero;
  return std::isfinite(magnitude) ? std::ilogb(magnitude) + 1 : kNotFinite;
}

/// Sums of x[i] over all units as integers, in units of 2^-scale_exponent, rounded to nearest.
template <class T>
void sum_fixed_point(std::vector<at::Tensor> const& units, int scale_exponent,
                     at::Tensor const& sums) {
  double const scale = std::ldexp(1.0, scale_exponent);
  if (sums.is_cuda()) {
    sums.zero_();
    for (auto const& unit : units) fixed_point::on_gpu::add(unit, scale, sums);
    return;
  }
  std::int64_t const size = sums.numel();
  auto* const fixed = sums.mutable_data_ptr<std::int64_t>();
  // Small pieces over all units, so that the sums stay in cache.
  parallel_for(size, std::ssize(units), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t begin = first; begin < last; begin += kPiece) {
      std::int64_t const end = std::min(last, begin + kPiece);
      std::fill(fixed + begin, fixed + end, 0);
      for (auto const& unit : units) {
        loops<T>().add(unit.const_data_ptr<T>() + begin, end - begin, scale, fixed + begin);
      }
    }
  });
}

template <class T>
void to_floating_point(at::Tensor const& sums, int exponent, at::Tensor& values) {
  double const quantum = std::ldexp(1.0, exponent);
  if (sums.is_cuda()) {
    fixed_point::on_gpu::to_floating(sums, quantum, values);
    return;
  }
  auto const* const fixed = sums.const_data_ptr<std::int64_t>();
  auto* x = values.mutable_data_ptr<T>();
  parallel_for(values.numel(), 1, [&](std::int64_t begin, std::int64_t end) {
    loops<T>().to_floating(fixed + begin, end - begin, quantum, x + begin);
  });
}

}  // namespace

struct GradientReducer::Impl {
  Communicator const& comm;
  std::vector<at::Tensor> parameters;
  GradientMode mode;
  std::int64_t total_units = 1;
  std::unordered_map<void const*, std::size_t> slot_of;
  std::vector<std::vector<at::Tensor>> units;  ///< per slot: of local units, in memory order
  std::vector<std::int64_t> local_exponents;   ///< per slot
  std::vector<std::pair<std::size_t, at::Tensor>> patterns_on_gpu;  ///< slot, largest of a unit
  std::vector<at::Tensor> totals;  ///< per slot: already summed over all ranks
  GradientBuckets buckets;         ///< fast mode

  std::size_t slot(at::Tensor const& parameter) const {
    auto const found = slot_of.find(parameter.unsafeGetTensorImpl());
    VOXCYCLE_REQUIRE(found != slot_of.end(), "gradient reducer: an unknown parameter.");
    return found->second;
  }

  void add_pattern(std::size_t s, std::int64_t pattern) {
    local_exponents[s] =
        std::max(local_exponents[s], parameters[s].scalar_type() == at::kDouble
                                         ? exponent_above<double, std::int64_t>(pattern)
                                         : exponent_above<float, std::int32_t>(pattern));
  }

  /// One wait for the patterns of all parameters and units.
  void add_patterns_on_gpu() {
    if (patterns_on_gpu.empty()) return;
    std::vector<at::Tensor> all;
    for (auto const& entry : patterns_on_gpu) all.push_back(entry.second);
    at::Tensor const patterns = at::cat(all).cpu();
    for (std::size_t k = 0; k < all.size(); ++k) {
      add_pattern(patterns_on_gpu[k].first, patterns.const_data_ptr<std::int64_t>()[k]);
    }
    patterns_on_gpu.clear();
  }

  /// Slots that at least one rank touched, with the common exponent of their values.
  std::vector<std::int64_t> common_exponents() {
    add_patterns_on_gpu();
    at::Tensor exponents =
        at::full({static_cast<std::int64_t>(parameters.size())}, kUntouched, at::kLong);
    auto* exponent = exponents.mutable_data_ptr<std::int64_t>();
    std::copy(local_exponents.begin(), local_exponents.end(), exponent);
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
  for (std::size_t s = 0; s < exponents.size(); ++s) {
    if (exponents[s] == kAllZero) parameters[s].mutable_grad() = at::zeros_like(parameters[s]);
  }
  int const bits =
      62 - std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(1, total_units)));
  std::int64_t size = 0;
  for (std::size_t s = 0; s < parameters.size(); ++s) {
    if (exponents[s] > kAllZero) size += parameters[s].numel();
  }
  if (size == 0) return;
  at::Tensor fixed = at::empty({size}, parameters.front().options().dtype(at::kLong));
  std::int64_t next = 0;
  for (std::size_t s = 0; s < parameters.size(); ++s) {
    if (exponents[s] <= kAllZero) continue;
    int const scale = bits - static_cast<int>(exponents[s]);
    at::Tensor const sums = fixed.narrow(0, next, parameters[s].numel());
    parameters[s].scalar_type() == at::kDouble ? sum_fixed_point<double>(units[s], scale, sums)
                                               : sum_fixed_point<float>(units[s], scale, sums);
    next += sums.numel();
  }
  comm.all_reduce(fixed, ReduceOperation::sum);
  next = 0;
  for (std::size_t s = 0; s < parameters.size(); ++s) {
    if (exponents[s] <= kAllZero) continue;
    int const exponent = static_cast<int>(exponents[s]) - bits;
    at::Tensor grad = at::empty_like(parameters[s]);
    at::Tensor const sums = fixed.narrow(0, next, grad.numel());
    grad.scalar_type() == at::kDouble ? to_floating_point<double>(sums, exponent, grad)
                                      : to_floating_point<float>(sums, exponent, grad);
    parameters[s].mutable_grad() = grad;
    next += grad.numel();
  }
}

GradientReducer::GradientReducer(Communicator const& comm, std::vector<at::Tensor> parameters,
                                 GradientMode mode)
    : impl_(std::make_unique<Impl>(
          Impl{comm, std::move(parameters), mode, 1, {}, {}, {}, {}, {}, GradientBuckets(comm)})) {
  for (std::size_t s = 0; s < impl_->parameters.size(); ++s) {
    VOXCYCLE_REQUIRE(impl_->parameters[s].is_non_overlapping_and_dense(),
                     "gradient reducer: parameter " << s << " is strided.");
    impl_->slot_of[impl_->parameters[s].unsafeGetTensorImpl()] = s;
  }
  begin(1);
}

GradientReducer::~GradientReducer() = default;

void GradientReducer::begin(std::int64_t total_units) {
  impl_->total_units = total_units;
  impl_->buckets.begin();
  impl_->units.assign(impl_->parameters.size(), {});
  impl_->local_exponents.assign(impl_->parameters.size(), kUntouched);
  impl_->patterns_on_gpu.clear();
  impl_->totals.assign(impl_->parameters.size(), {});
}

void GradientReducer::add_unit(at::Tensor const& parameter, at::Tensor const& gradient) {
  at::NoGradGuard const no_grad;
  // The parameter's dtype and layout, so that all units and ranks agree on the memory order.
  at::Tensor const values = flat(at::empty_like(parameter).copy_(gradient));
  std::size_t const s = impl_->slot(parameter);
  if (impl_->mode == GradientMode::fast && !impl_->units[s].empty()) {
    impl_->units[s].front().add_(values);
    return;
  }
  impl_->units[s].push_back(values);
  if (impl_->mode == GradientMode::fast) return;
  if (values.is_cuda()) {
    impl_->patterns_on_gpu.emplace_back(s, fixed_point::on_gpu::largest_pattern(values));
  } else {
    impl_->add_pattern(s, values.scalar_type() == at::kDouble ? largest_pattern<double>(values)
                                                              : largest_pattern<float>(values));
  }
}

void GradientReducer::set_total(at::Tensor const& parameter, at::Tensor const& gradient) {
  impl_->totals[impl_->slot(parameter)] = gradient.to(parameter.options());
}

void GradientReducer::close(at::Tensor const& parameter) {
  if (impl_->mode == GradientMode::exact) return;
  at::NoGradGuard const no_grad;
  auto const& units = impl_->units[impl_->slot(parameter)];
  impl_->buckets.add(parameter, units.empty() ? at::zeros({parameter.numel()}, parameter.options())
                                              : units.front());
}

void GradientReducer::finish() {
  at::NoGradGuard const no_grad;
  for (std::size_t s = 0; s < impl_->parameters.size(); ++s) {
    impl_->parameters[s].mutable_grad() = impl_->totals[s];
  }
  impl_->mode == GradientMode::exact ? impl_->finish_exact() : impl_->buckets.finish();
  impl_->units.assign(impl_->parameters.size(), {});
}

}  // namespace voxcycle
