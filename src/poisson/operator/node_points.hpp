// SPDX-License-Identifier: BSD-3-Clause
// What GPUs do node by node (core/element_job.hpp). The order of operations is that of the CPU's
// loops, and so are the bits.
#pragma once

#include "voxcycle/core/element_job.hpp"
#include "voxcycle/core/random.hpp"

#include <cstdint>

namespace voxcycle {

/// Where an element of a batch of fields lies.
struct Place {
  int sample, x, y, z;
};

/// Sizes of a field, in nodes or voxels.
struct FieldSize {
  int x, y, z;

  VOXCYCLE_BOTH std::int64_t count() const { return static_cast<std::int64_t>(x) * y * z; }
  VOXCYCLE_BOTH std::int64_t index(int sample, int i, int j, int k) const {
    return ((static_cast<std::int64_t>(sample) * x + i) * y + j) * z + k;
  }
  VOXCYCLE_BOTH bool holds(int i, int j, int k) const {
    return i >= 0 && i < x && j >= 0 && j < y && k >= 0 && k < z;
  }
  /// @param element  of [batch, x, y, z], below 2^32: a GPU divides 64 bits in a hundred
  ///                 instructions
  VOXCYCLE_BOTH Place place(std::int64_t element) const {
    auto i = static_cast<std::uint32_t>(element);
    auto const take = [&i](int size) {
      auto const rest = static_cast<int>(i % static_cast<std::uint32_t>(size));
      i /= static_cast<std::uint32_t>(size);
      return rest;
    };
    Place place{};
    place.z = take(z);
    place.y = take(y);
    place.x = take(x);
    place.sample = static_cast<int>(i);
    return place;
  }
};

/// out_i = scale * sum of c over the voxels at node i.
template <class T>
struct NodeSumJob {
  T const* voxels;  ///< [batch, size - 1]
  T* nodes;         ///< [batch, size]
  FieldSize size;
  T scale;

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    auto const [sample, x, y, z] = size.place(i);
    FieldSize const cells{size.x - 1, size.y - 1, size.z - 1};
    T sum = 0;
    for (int xv = x - 1; xv <= x; ++xv) {
      if (xv < 0 || xv >= cells.x) continue;
      for (int yv = y - 1; yv <= y; ++yv) {
        if (yv < 0 || yv >= cells.y) continue;
        T const* const row = voxels + cells.index(sample, xv, yv, 0);
        if (z < cells.z) sum += row[z];
        if (z > 0) sum += row[z - 1];
      }
    }
    nodes[i] = sum * scale;
  }
};

/// One Chebyshev step: d = keep d + take weights * (b - K x), x += d. With keep = 0 d may be
/// anything.
template <class T>
struct ChebyshevJob {
  T keep, take;
  T const *weights, *b, *k_x;
  T *d, *x;

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    T const kept = keep == T(0) ? T(0) : keep * d[i];
    d[i] = kept + take * (weights[i] * (b[i] - k_x[i]));
    x[i] += d[i];
  }
};

/// part / whole, and 0 of nothing.
VOXCYCLE_BOTH inline double share(double part, double whole) {
  return whole > 0.0 ? part / whole : 0.0;
}

/// One step of Lanczos' iteration (lanczos.hpp), of each sample with its own coefficients:
/// other = scale K x - alpha y - beta^2 other, x = scale other with alpha = x.K x / y.y and
/// beta^2 = y.y / its value a step before.
template <class T>
struct LanczosJob {
  std::uint32_t count;                     ///< nodes of a sample
  double const *x_k_x, *y_y, *y_y_before;  ///< [batch]
  T const *scale, *k_x, *y;
  T *other, *x;

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    std::uint32_t const sample = static_cast<std::uint32_t>(i) / count;
    T const alpha = static_cast<T>(share(x_k_x[sample], y_y[sample]));
    T const beta2 = static_cast<T>(share(y_y[sample], y_y_before[sample]));
    other[i] = scale[i] * k_x[i] - alpha * y[i] - beta2 * other[i];
    x[i] = scale[i] * other[i];
  }
};

/// Noise in [-0.5, 0.5), the same for every sample.
template <class T>
struct NoiseJob {
  std::uint32_t count;  ///< nodes of a sample
  std::uint32_t first;  ///< number of its first one
  T* x;

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    x[i] = static_cast<T>(hash_uniform({static_cast<std::uint32_t>(i) % count + first}) - 0.5);
  }
};

/// x /= weights, and 0 where they are.
template <class T>
struct DivideJob {
  T const* weights;
  T* x;

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    x[i] = weights[i] > T(0) ? x[i] / weights[i] : T(0);
  }
};

}  // namespace voxcycle
