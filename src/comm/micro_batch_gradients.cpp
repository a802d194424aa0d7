// SPDX-License-Identifier: BSD-3-Clause
#include "comm/micro_batch_gradients.hpp"

#include "voxcycle/core/parallel.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "comm/fixed_point.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

constexpr std::int64_t kPiece = 1 << 8;

template <class T>
fixed_point::Loops<T> const& loops() {
  if constexpr (std::is_same_v<T, float>) {
    return fixed_point::table().f32;
  } else {
    return fixed_point::table().f64;
  }
}

/// See MicroBatchGradients::exponents. @param pattern  of the bits of the largest |x|
template <class T>
std::int64_t exponent_above(std::int64_t pattern) {
  using Bits = std::conditional_t<std::is_same_v<T, float>, std::int32_t, std::int64_t>;
  T const magnitude = std::bit_cast<T>(static_cast<Bits>(pattern));
  if (magnitude == T{0}) return MicroBatchGradients::min_exponent;
  if (!std::isfinite(magnitude)) return MicroBatchGradients::not_finite;
  return std::max<std::int64_t>(std::ilogb(magnitude) + 1, MicroBatchGradients::min_exponent);
}

class MicroBatchGradientsOnCpu final : public MicroBatchGradients {
 public:
  using MicroBatchGradients::MicroBatchGradients;

  void begin(std::int64_t /*micro-batches*/) override {
    micro_batches_.assign(parameters().size(), {});
    largest_.assign(parameters().size(), 0);
  }

  void add(std::size_t parameter, at::Tensor const& gradient) override {
    // The parameter's dtype and layout, so that all micro-batches and ranks agree on the memory
    // order.
    at::Tensor const& like = parameters()[parameter];
    bool const agrees =
        gradient.scalar_type() == like.scalar_type() && gradient.strides() == like.strides();
    at::Tensor const values = agrees ? gradient : at::empty_like(like).copy_(gradient);
    auto& largest = largest_[parameter];
    micro_batches_[parameter].push_back(values);
    if (values.is_meta()) {
      largest = 1;  // anything but zeros
      return;
    }
    AT_DISPATCH_FLOATING_TYPES(values.scalar_type(), "largest_pattern", [&] {
      largest = std::max(largest, loops<scalar_t>().largest_pattern(
                                      values.const_data_ptr<scalar_t>(), values.numel()));
    });
  }

  at::Tensor exponents(Parts const& parts) override {
    at::Tensor result = at::empty({std::ssize(parts)}, at::kLong);
    auto* exponent = result.mutable_data_ptr<std::int64_t>();
    for (auto const part : parts) {
      AT_DISPATCH_FLOATING_TYPES(parameters()[part].scalar_type(), "exponent_above",
                                 [&] { *exponent++ = exponent_above<scalar_t>(largest_[part]); });
    }
    return result;
  }

  at::Tensor sums(Parts const& parts, at::Tensor const& units) override {
    at::Tensor sums =
        at::empty({total_size(parts)}, parameters().front().options().dtype(at::kLong));
    auto* sum = sums.mutable_data_ptr<std::int64_t>();
    auto const* unit = units.const_data_ptr<std::int64_t>();
    for (auto const parameter : parts) {
      std::int64_t const size = parameters()[parameter].numel();
      double const scale = std::ldexp(1.0, -static_cast<int>(*unit++));
      AT_DISPATCH_FLOATING_TYPES(parameters()[parameter].scalar_type(), "fixed_point_sum", [&] {
        add_up<scalar_t>(micro_batches_[parameter], size, scale, sum);
      });
      sum += size;
    }
    return sums;
  }

  void release(Parts const& parts) override {
    for (auto const part : parts) micro_batches_[part].clear();
  }

  std::vector<at::Tensor> gradients(at::Tensor const& sums, Parts const& parts,
                                    at::Tensor const& units) override {
    auto const* unit = units.const_data_ptr<std::int64_t>();
    auto const* sum = sums.const_data_ptr<std::int64_t>();
    std::vector<at::Tensor> all;
    for (auto const parameter : parts) {
      at::Tensor const& gradient = all.emplace_back(at::empty_like(parameters()[parameter]));
      double const quantum = std::ldexp(1.0, static_cast<int>(*unit++));
      AT_DISPATCH_FLOATING_TYPES(gradient.scalar_type(), "to_floating", [&] {
        auto* const x = gradient.mutable_data_ptr<scalar_t>();
        parallel_for(gradient.numel(), 1, [&](std::int64_t begin, std::int64_t end) {
          loops<scalar_t>().to_floating(sum + begin, end - begin, quantum, x + begin);
        });
      });
      sum += gradient.numel();
    }
    return all;
  }

 private:
  template <class T>
  static void add_up(std::vector<at::Tensor> const& micro_batches, std::int64_t size, double scale,
                     std::int64_t* sum) {
    // Small pieces over all micro-batches, so that the sums stay in the fastest cache.
    parallel_for(size, std::ssize(micro_batches), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t begin = first; begin < last; begin += kPiece) {
        std::int64_t const end = std::min(last, begin + kPiece);
        std::fill(sum + begin, sum + end, 0);
        for (auto const& micro_batch : micro_batches) {
          loops<T>().add(micro_batch.const_data_ptr<T>() + begin, end - begin, scale, sum + begin);
        }
      }
    });
  }

  std::vector<std::vector<at::Tensor>> micro_batches_;  ///< of each parameter, in its layout
  std::vector<std::int64_t> largest_;
};

}  // namespace

std::unique_ptr<MicroBatchGradients> make_micro_batch_gradients(
    std::vector<at::Tensor> const& parameters) {
  bool const on_gpu = !parameters.empty() && parameters.front().is_cuda();
  return on_gpu ? make_micro_batch_gradients_on_gpu(parameters)
                : std::make_unique<MicroBatchGradientsOnCpu>(parameters);
}

}  // namespace voxcycle
