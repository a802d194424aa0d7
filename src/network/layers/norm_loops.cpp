// SPDX-License-Identifier: BSD-3-Clause
#include "network/layers/norm_loops.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/parallel.hpp"

#include <algorithm>

#include "network/layers/norm_device.hpp"
#include "network/layers/norm_rows.hpp"
#include <ATen/ATen.h>

namespace voxcycle::norm_loops {
namespace {

using norm_rows::Bf16;
using norm_rows::F16;

constexpr std::int64_t kChunkRows = 8192;
constexpr auto kChannelsLast = at::MemoryFormat::ChannelsLast3d;

/// Calls body(loops, element tag, compute tag) for the dtype of x.
template <class Body>
void dispatch(at::Tensor const& x, Body const& body) {
  auto const& table = norm_rows::table();
  switch (x.scalar_type()) {
    case at::kBFloat16:
      return body(table.bf16, Bf16{}, float{});
    case at::kHalf:
      return body(table.f16, F16{}, float{});
    case at::kFloat:
      return body(table.f32, float{}, float{});
    case at::kDouble:
      return body(table.f64, double{}, double{});
    default:
      throw Error(std::string("normalisation: no kernel for ") + at::toString(x.scalar_type()) +
                  '.');
  }
}

/// Rows of one sample that are taken together.
struct Chunk {
  std::int64_t number;
  std::int64_t sample;
  std::int64_t channel;  ///< first of the rows
  std::int64_t offset;   ///< of the first value
  std::int64_t rows;
};

/// The samples of x cut into chunks. Channels last, a row holds all channels of a voxel; in torch's
/// default layout a row is a single value, and each channel is cut into chunks of its own.
struct Chunks {
  at::MemoryFormat layout;
  std::int64_t samples, channels, rows;
  std::int64_t columns;    ///< channels in a row
  std::int64_t planes;     ///< pieces of `rows` rows, of a sample or of one of its channels
  std::int64_t per_plane;  ///< chunks

  explicit Chunks(at::Tensor const& x)
      : layout(x.is_contiguous(kChannelsLast) ? kChannelsLast : at::MemoryFormat::Contiguous),
        samples(x.size(0)),
        channels(x.size(1)),
        rows(x.size(2) * x.size(3) * x.size(4)),
        columns(layout == kChannelsLast ? channels : 1),
        planes(samples * channels / columns),
        per_plane((rows + kChunkRows - 1) / kChunkRows) {
    VOXCYCLE_REQUIRE(x.is_contiguous(layout), "normalisation: strided tensors cannot be used.");
  }

  std::int64_t count() const { return planes * per_plane; }

  /// Calls body(chunk), threaded.
  template <class Body>
  void run(Body const& body) const {
    parallel_for(
        count(), std::min(kChunkRows, rows) * columns, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t number = begin; number < end; ++number) {
            std::int64_t const plane = number / per_plane;
            std::int64_t const first = number % per_plane * kChunkRows;
            std::int64_t const channel = plane * columns;  // counted through the samples
            body(Chunk{number, channel / channels, channel % channels,
                       (plane * rows + first) * columns, std::min(kChunkRows, rows - first)});
          }
        });
  }

  /// Two sums a column and chunk, [count(), 2 columns] -> [samples, 2C], chunks added in order.
  at::Tensor combine(at::Tensor const& partial) const {
    at::Tensor const sums =
        per_plane == 1 ? partial : partial.view({planes, per_plane, 2 * columns}).sum(1);
    if (columns == channels) return sums;
    return sums.view({samples, channels, 2}).transpose(1, 2).reshape({samples, 2 * channels});
  }
};

/// Coefficients in the compute type; of(chunk) are those of its rows, a sample's or the common
/// ones.
template <class Compute>
class Coefficients {
 public:
  explicit Coefficients(at::Tensor const& values)
      : values_(values.to(c10::CppTypeToScalarType<Compute>::value).contiguous()) {}
  Compute const* of(Chunk const& chunk) const {
    return values_.const_data_ptr<Compute>() + chunk.channel +
           (values_.size(0) == 1 ? 0 : chunk.sample * values_.size(1));
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
      at::empty({chunks.count(), 2 * chunks.columns}, x.options().dtype(at::kDouble));
  dispatch(x, [&]<class T, class Compute>(norm_rows::Loops<T, Compute> const& loops, T, Compute) {
    auto const* from = static_cast<T const*>(x.const_data_ptr());
    auto* sums = partial.mutable_data_ptr<double>();
    chunks.run([&](Chunk const& c) {
      loops.moments(from + c.offset, c.rows, chunks.columns, sums + c.number * 2 * chunks.columns);
    });
  });
  return chunks.combine(partial);
}

void forward(at::Tensor const& x, at::Tensor const& scale, at::Tensor const& shift, double leak,
             at::Tensor const& y) {
  if (x.is_cuda()) return on_gpu::forward(x, scale, shift, leak, y);
  Chunks const chunks(x);
  VOXCYCLE_ASSERT(y.is_contiguous(chunks.layout));
  dispatch(x, [&]<class T, class Compute>(norm_rows::Loops<T, Compute> const& loops, T, Compute) {
    Coefficients<Compute> const a(scale);
    Coefficients<Compute> const b(shift);
    auto const* from = static_cast<T const*>(x.const_data_ptr());
    auto* to = static_cast<T*>(y.mutable_data_ptr());
    chunks.run([&](Chunk const& c) {
      loops.forward(from + c.offset, c.rows, chunks.columns, a.of(c), b.of(c),
                    static_cast<Compute>(leak), to + c.offset);
    });
  });
}

at::Tensor backward_moments(at::Tensor const& dy, at::Tensor const& x, at::Tensor const& scale,
                            at::Tensor const& shift, at::Tensor const& mean, double leak) {
  if (x.is_cuda()) return on_gpu::backward_moments(dy, x, scale, shift, mean, leak);
  Chunks const chunks(x);
  VOXCYCLE_ASSERT(dy.is_contiguous(chunks.layout));
  at::Tensor partial =
      at::empty({chunks.count(), 2 * chunks.columns}, x.options().dtype(at::kDouble));
  dispatch(x, [&]<class T, class Compute>(norm_rows::Loops<T, Compute> const& loops, T, Compute) {
    Coefficients<Compute> const a(scale);
    Coefficients<Compute> const b(shift);
    Coefficients<Compute> const m(mean);
    auto const* from = static_cast<T const*>(x.const_data_ptr());
    auto const* gradients = static_cast<T const*>(dy.const_data_ptr());
    auto* sums = partial.mutable_data_ptr<double>();
    chunks.run([&](Chunk const& c) {
      loops.backward_moments(gradients + c.offset, from + c.offset, c.rows, chunks.columns, a.of(c),
                             b.of(c), m.of(c), static_cast<Compute>(leak),
                             sums + c.number * 2 * chunks.columns);
    });
  });
  return chunks.combine(partial);
}

at::Tensor backward(at::Tensor const& dy, at::Tensor const& x, at::Tensor const& scale,
                    at::Tensor const& shift, at::Tensor const& linear, at::Tensor const& constant,
                    double leak) {
  if (x.is_cuda()) return on_gpu::backward(dy, x, scale, shift, linear, constant, leak);
  Chunks const chunks(x);
  at::Tensor dx = at::empty_like(x, chunks.layout);
  dispatch(x, [&]<class T, class Compute>(norm_rows::Loops<T, Compute> const& loops, T, Compute) {
    Coefficients<Compute> const a(scale);
    Coefficients<Compute> const b(shift);
    Coefficients<Compute> const p(linear);
    Coefficients<Compute> const q(constant);
    auto const* from = static_cast<T const*>(x.const_data_ptr());
    auto const* gradients = static_cast<T const*>(dy.const_data_ptr());
    auto* to = static_cast<T*>(dx.mutable_data_ptr());
    chunks.run([&](Chunk const& c) {
      loops.backward(gradients + c.offset, from + c.offset, c.rows, chunks.columns, a.of(c),
                     b.of(c), p.of(c), q.of(c), static_cast<Compute>(leak), to + c.offset);
    });
  });
  return dx;
}

}  // namespace voxcycle::norm_loops
