// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/instruction_set.hpp"

#include <cstdint>

namespace voxcycle::row_loops {

/// Loops over one row along z that multigrid is made of, compiled once per instruction set
/// (src/poisson/kernels/row_loops.cpp) and chosen at run time; all variants give the same bits.
/// Rows do not overlap unless said so.
template <class T>
struct Loops {
  /// even[k] = row[2k] for k <= n, odd[k] = row[2k + 1] for k < n: a row of 2n + 1 values.
  void (*split)(T const* row, T* even, T* odd, std::int64_t n);
  /// The inverse, added: row[2k] += even[k], row[2k + 1] += odd[k].
  void (*merge)(T* row, T const* even, T const* odd, std::int64_t n);
  /// out += w x
  void (*multiply_add)(T* out, T const* w, T const* x, std::int64_t n);
  /// out += a (u - centre)
  void (*couple)(T* out, T const* a, T const* u, T const* centre, std::int64_t n);
  /// out += a q, in float64
  void (*weigh)(double* out, double const* a, T const* q, std::int64_t n);
  /// out = x, to float64 and back
  void (*widen)(double* out, T const* x, std::int64_t n);
  void (*narrow)(T* out, double const* x, std::int64_t n);
  /// One Chebyshev step: d = keep d + take w (b - k_x), x += d.
  void (*chebyshev)(T keep, T take, T const* w, T const* b, T const* k_x, T* d, T* x,
                    std::int64_t n);
  /// One step of Lanczos' iteration: other = scale k_x - alpha y - beta2 other, x = scale other.
  void (*lanczos)(T alpha, T beta2, T const* scale, T const* k_x, T const* y, T* other, T* x,
                  std::int64_t n);
};

/// Loops of the set-up, always in float64.
struct SetupLoops {
  /// out += a, out -= a
  void (*add)(double* out, double const* a, std::int64_t n);
  void (*subtract)(double* out, double const* a, std::int64_t n);
  /// out += p (a[0] q[0] + a[1] q[1] + ...) over `terms` rows each
  void (*congruence)(double* out, double const* p, double const* const* a, double const* const* q,
                     int terms, std::int64_t n);
  /// x /= divisor; sense becomes 0 where the quotient is beyond [least, most].
  void (*divide)(double* x, double const* divisor, double minimum, double maximum, double* sense,
                 std::int64_t n);
  /// x = otherwise where sense is 0
  void (*replace)(double* x, double const* sense, double otherwise, std::int64_t n);
  /// The 27 entries of K(nu) at nodes from nu in the 8 voxels around each and the row of the
  /// element matrix by the axes along which nodes differ. Voxels are numbered as corners are, with
  /// z fastest; out[t] is the row of offset t.
  void (*voxel_stencil)(double* const* out, double const* const* nu, double const* element,
                        std::int64_t n);
};

struct Table {
  Loops<float> f32;
  Loops<double> f64;
  SetupLoops setup;
};

VOXCYCLE_KERNEL_TABLES

template <class T>
Loops<T> const& loops();
template <>
inline Loops<float> const& loops() {
  return table().f32;
}
template <>
inline Loops<double> const& loops() {
  return table().f64;
}

}  // namespace voxcycle::row_loops
