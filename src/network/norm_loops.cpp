// SPDX-License-Identifier: BSD-3-Clause
#include "network/norm_loops.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/parallel.hpp"

#include <algorithm>

#include "network/norm_device.hpp"
#include "network/norm_rows.hpp"
#include <ATen/ATen.h>

namespace voxcycle::norm_loops {
namespace {

using norm_rows::Bf16;

constexpr std::int64_t kChunkVoxels = 8192;
constexpr auto kLayout = at::MemoryFormat::ChannelsLast3d;

/// Calls body(loops, element tag, compute tag) for the dtype of x.
template <class Body>
void dispatch(at::Tensor const& x, Body const& body) {
  auto const& table = norm_rows::table();
  switch (x.scalar_type()) {
    case at::kBFloat16:
      return body(table.bf16, Bf16{}, float{});
    case at::kFloat:
      return body(table.f32, float{}, float{});
    case at::kDouble:
      return body(table.f64, double{}, double{});
    default:
      throw Error(std::string("normalisation: no kernel for ") + at::toString(x.scalar_type()) +
                  '.');
  }
}

/// The samples of x cut into chunks of rows, each chunk of one sample.
struct Chunks {
  std::int64_t samples, rows, channels, per_sample;

  explicit Chunks(at::Tensor const& x)
      : samples(x.size(0)),
        rows(x.size(2) * x.size(3) * x.size(4)),
        channels(x.size(1)),
        per_sample((rows + kChunkVoxels - 1) / kChunkVoxels) {
    VOXCYCLE_REQUIRE(x.is_contiguous(kLayout), "normalisation: channels-last tensors are needed.");
  }

  /// Calls body(chunk, sample, offset of the first element, number of rows), threaded.
  template <class Body>
  void run(Body const& body) const {
    parallel_for(samples * per_sample, std::min(kChunkVoxels, rows) * channels,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t chunk = begin; chunk < end; ++chunk) {
                     std::int64_t const sample = chunk / per_sample;
                     std::int64_t const first = chunk % per_sample * kChunkVoxels;
                     body(chunk, sample, (sample * rows + first) * channels,
                          std::min(kChunkVoxels, rows - first));
                   }
                 });
  }

  /// [samples * per_sample, 2C] partial sums -> [samples, 2C], chunks added in order.
  at::Tensor combine(at::Tensor const& partial) const {
    if (per_sample == 1) return partial;
    return partial.view({samples, per_sample, 2 * channels}).sum(1);
  }
};

/// Coefficients in the compute type; row(sample) is the sample's or the common one.
template <class Compute>
class Coefficients {
 public:
  explicit Coefficients(at::Tensor const& values)
      : values_(values.to(c10::CppTypeToScalarType<Compute>::value).contiguous()) {}
  Compute const* row(std::int64_t sample) const {
    return values_.const_data_ptr<Compute>() +
           (values_.size(0) == 1 ? 0 : sample * values_.size(1));
  }

 private:
  at::Tensor values_;
};

}  // namespace

at::ScalarType compute_type(at::Tensor const& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

at::Tensor moments(at::Tensor const& x) {
  if (x.is_cuda()) return on_gpu::moments(x);
  Chunks const chunks(x);
  at::Tensor partial =
      at::empty({chunks.samples * chunks.per_sample, 2 * chunks.channels}, at::kDouble);
  dispatch(x, [&]<class T, class Compute>(norm_rows::Loops<T, Compute> const& loops, T, Compute) {
    auto const* from = static_cast<T const*>(x.const_data_ptr());
    auto* sums = partial.mutable_data_ptr<double>();
    chunks.run([&](auto chunk, auto, auto offset, auto rows) {
      loops.moments(from + offset, rows, chunks.channels, sums + chunk * 2 * chunks.channels);
    });
  });
  return chunks.combine(partial);
}

at::Tensor forward(at::Tensor const& x, at::Tensor const& scale, at::Tensor const& shift,
                   double slope) {
  if (x.is_cuda()) return on_gpu::forward(x, scale, shift, slope);
  Chunks const chunks(x);
  at::Tensor y = at::empty_like(x, kLayout);
  dispatch(x, [&]<class T, class Compute>(norm_rows::Loops<T, Compute> const& loops, T, Compute) {
    Coefficients<Compute> const a(scale);
    Coefficients<Compute> const b(shift);
    auto const* from = static_cast<T const*>(x.const_data_ptr());
    auto* to = static_cast<T*>(y.mutable_data_ptr());
    chunks.run([&](auto, auto sample, auto offset, auto rows) {
      loops.forward(from + offset, rows, chunks.channels, a.row(sample), b.row(sample),
                    static_cast<Compute>(slope), to + offset);
    });
  });
  return y;
}

at::Tensor backward_moments(at::Tensor const& dy, at::Tensor const& x, at::Tensor const& scale,
                            at::Tensor const& shift, at::Tensor const& mean, double slope) {
  if (x.is_cuda()) return on_gpu::backward_moments(dy, x, scale, shift, mean, slope);
  Chunks const chunks(x);
  VOXCYCLE_ASSERT(dy.is_contiguous(kLayout));
  at::Tensor partial =
      at::empty({chunks.samples * chunks.per_sample, 2 * chunks.channels}, at::kDouble);
  dispatch(x, [&]<class T, class Compute>(norm_rows::Loops<T, Compute> const& loops, T, Compute) {
    Coefficients<Compute> const a(scale);
    Coefficients<Compute> const b(shift);
    Coefficients<Compute> const m(mean);
    auto const* from = static_cast<T const*>(x.const_data_ptr());
    auto const* slopes = static_cast<T const*>(dy.const_data_ptr());
    auto* sums = partial.mutable_data_ptr<double>();
    chunks.run([&](auto chunk, auto sample, auto offset, auto rows) {
      loops.backward_moments(slopes + offset, from + offset, rows, chunks.channels, a.row(sample),
                             b.row(sample), m.row(sample), static_cast<Compute>(slope),
                             sums + chunk * 2 * chunks.channels);
    });
  });
  return chunks.combine(partial);
}

at::Tensor backward(at::Tensor const& dy, at::Tensor const& x, at::Tensor const& scale,
                    at::Tensor const& shift, at::Tensor const& linear, at::Tensor const& constant,
                    double slope) {
  if (x.is_cuda()) return on_gpu::backward(dy, x, scale, shift, linear, constant, slope);
  Chunks const chunks(x);
  at::Tensor dx = at::empty_like(x, kLayout);
  dispatch(x, [&]<class T, class Compute>(norm_rows::Loops<T, Compute> const& loops, T, Compute) {
    Coefficients<Compute> const a(scale);
    Coefficients<Compute> const b(shift);
    Coefficients<Compute> const p(linear);
    Coefficients<Compute> const q(constant);
    auto const* from = static_cast<T const*>(x.const_data_ptr());
    auto const* slopes = static_cast<T const*>(dy.const_data_ptr());
    auto* to = static_cast<T*>(dx.mutable_data_ptr());
    chunks.run([&](auto, auto sample, auto offset, auto rows) {
      loops.backward(slopes + offset, from + offset, rows, chunks.channels, a.row(sample),
                     b.row(sample), p.row(sample), q.row(sample), static_cast<Compute>(slope),
                     to + offset);
    });
  });
  return dx;
}

}  // namespace voxcycle::norm_loops
