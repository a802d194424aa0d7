// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/gradient_reducer.hpp"

#include "voxcycle/core/error.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

namespace voxcycle {
namespace {

constexpr std::int64_t kUntouched = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kAllZero = kUntouched + 1;
constexpr std::int64_t kNotFinite = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kGrain = 1 << 15;

/// Smallest e with |x| < 2^e for all x; the maximum of the bit patterns is that of the magnitudes.
template <class T, class Bits>
std::int64_t exponent_above(at::Tensor const& values) {
  auto const* x = values.const_data_ptr<T>();
  constexpr Bits sign = Bits{1} << (8 * sizeof(Bits) - 1);
  Bits largest = 0;
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    Bits pattern;
    std::memcpy(&pattern, x + i, sizeof(pattern));
    largest = std::max<Bits>(largest, pattern & ~sign);
  }
  T magnitude;
  std::memcpy(&magnitude, &largest, sizeof(magnitude));
  if (magnitude == T{0}) return kAllZero;
  return std::isfinite(magnitude) ? std::ilogb(magnitude) + 1 : kNotFinite;
}

/// fixed[i] += x[i] in units of 2^(exponent - bits).
template <class T>
void add_fixed_point(at::Tensor const& values, int scale_exponent, std::int64_t* fixed) {
  auto const* x = values.const_data_ptr<T>();
  double const scale = std::ldexp(1.0, scale_exponent);
  at::parallel_for(0, values.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      fixed[i] += std::llrint(static_cast<double>(x[i]) * scale);
    }
  });
}

}  // namespace

struct GradientReducer::Impl {
  Communicator const& comm;
  std::vector<at::Tensor> parameters;
  GradientMode mode;
  std::int64_t total_units = 1;
  std::unordered_map<void const*, std::size_t> slot_of;
  std::vector<std::vector<at::Tensor>> units;  ///< per slot: contiguous gradients of local units
  std::vector<at::Tensor> totals;              ///< per slot: already summed over all ranks

  std::size_t slot(at::Tensor const& parameter) const {
    auto const found = slot_of.find(parameter.unsafeGetTensorImpl());
    VOXCYCLE_REQUIRE(found != slot_of.end(), "gradient reducer: an unknown parameter.");
    return found->second;
  }

  /// Slots that at least one rank touched, with the common exponent of their values.
  std::vector<std::int64_t> common_exponents() const {
    at::Tensor exponents =
        at::full({static_cast<std::int64_t>(parameters.size())}, kUntouched, at::kLong);
    auto* exponent = exponents.mutable_data_ptr<std::int64_t>();
    at::parallel_for(0, exponents.numel(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t s = begin; s < end; ++s) {
        for (auto const& unit : units[static_cast<std::size_t>(s)]) {
          exponent[s] = std::max(exponent[s], unit.scalar_type() == at::kDouble
                                                  ? exponent_above<double, std::uint64_t>(unit)
                                                  : exponent_above<float, std::uint32_t>(unit));
        }
      }
    });
    comm.all_reduce(exponents, ReduceOperation::max);
    for (std::size_t s = 0; s < parameters.size(); ++s) {
      VOXCYCLE_REQUIRE(exponent[s] != kNotFinite, "the gradient of parameter "
                                                      << s << " is not finite. Lower the rate or "
                                                      << "look at the samples of this step.");
    }
    return {exponent, exponent + parameters.size()};
  }

  void finish_exact(std::vector<std::int64_t> const& exponents);
  void finish_fast(std::vector<std::int64_t> const& exponents);
};

void GradientReducer::Impl::finish_exact(std::vector<std::int64_t> const& exponents) {
  int const bits =
      62 - std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(1, total_units)));
  std::int64_t size = 0;
  for (std::size_t s = 0; s < parameters.size(); ++s) {
    if (exponents[s] > kAllZero) size += parameters[s].numel();
  }
  at::Tensor fixed = at::zeros({size}, at::kLong);
  auto* next = fixed.mutable_data_ptr<std::int64_t>();
  for (std::size_t s = 0; s < parameters.size(); ++s) {
    if (exponents[s] <= kAllZero) continue;
    int const scale = bits - static_cast<int>(exponents[s]);
    for (auto const& unit : units[s]) {
      unit.scalar_type() == at::kDouble ? add_fixed_point<double>(unit, scale, next)
                                        : add_fixed_point<float>(unit, scale, next);
    }
    next += parameters[s].numel();
  }
  comm.all_reduce(fixed, ReduceOperation::sum);
  std::int64_t offset = 0;
  for (std::size_t s = 0; s < parameters.size(); ++s) {
    if (exponents[s] <= kAllZero) continue;
    auto const part = fixed.narrow(0, offset, parameters[s].numel()).view(parameters[s].sizes());
    double const quantum = std::ldexp(1.0, static_cast<int>(exponents[s]) - bits);
    parameters[s].mutable_grad() =
        part.to(at::kDouble).mul_(quantum).to(parameters[s].scalar_type());
    offset += parameters[s].numel();
  }
}

void GradientReducer::Impl::finish_fast(std::vector<std::int64_t> const& exponents) {
  std::vector<at::Tensor> sums;
  for (std::size_t s = 0; s < parameters.size(); ++s) {
    if (exponents[s] <= kAllZero) continue;
    at::Tensor sum = at::zeros(parameters[s].sizes(), parameters[s].options());
    for (auto const& unit : units[s]) sum.add_(unit.view(parameters[s].sizes()));
    sums.push_back(sum.view({-1}));
  }
  if (sums.empty()) return;
  at::Tensor bucket = at::cat(sums);
  comm.all_reduce(bucket, ReduceOperation::sum);
  std::int64_t offset = 0;
  for (std::size_t s = 0; s < parameters.size(); ++s) {
    if (exponents[s] <= kAllZero) continue;
    auto const part = bucket.narrow(0, offset, parameters[s].numel());
    parameters[s].mutable_grad() = part.view(parameters[s].sizes()).clone();
    offset += parameters[s].numel();
  }
}

GradientReducer::GradientReducer(Communicator const& comm, std::vector<at::Tensor> parameters,
                                 GradientMode mode)
    : impl_(std::make_unique<Impl>(Impl{comm, std::move(parameters), mode, 1, {}, {}, {}})) {
  for (std::size_t s = 0; s < impl_->parameters.size(); ++s) {
    impl_->slot_of[impl_->parameters[s].unsafeGetTensorImpl()] = s;
  }
  begin(1);
}

GradientReducer::~GradientReducer() = default;

void GradientReducer::begin(std::int64_t total_units) {
  impl_->total_units = total_units;
  impl_->units.assign(impl_->parameters.size(), {});
  impl_->totals.assign(impl_->parameters.size(), {});
}

void GradientReducer::add_unit(at::Tensor const& parameter, at::Tensor const& gradient) {
  impl_->units[impl_->slot(parameter)].push_back(
      gradient.to(parameter.scalar_type()).contiguous().view({-1}));
}

void GradientReducer::set_total(at::Tensor const& parameter, at::Tensor const& gradient) {
  impl_->totals[impl_->slot(parameter)] = gradient.to(parameter.scalar_type());
}

void GradientReducer::finish() {
  auto const exponents = impl_->common_exponents();
  for (std::size_t s = 0; s < exponents.size(); ++s) {
    auto& grad = impl_->parameters[s].mutable_grad();
    if (impl_->totals[s].defined()) {
      grad = impl_->totals[s];
    } else if (exponents[s] == kAllZero) {
      grad = at::zeros_like(impl_->parameters[s]);
    } else {
      grad = at::Tensor();
    }
  }
  impl_->mode == GradientMode::exact ? impl_->finish_exact(exponents)
                                     : impl_->finish_fast(exponents);
  impl_->units.assign(impl_->parameters.size(), {});
}

}  // namespace voxcycle
