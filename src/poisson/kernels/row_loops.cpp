// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/row_loops.hpp"

namespace voxcycle::row_loops::VOXCYCLE_ISA {
namespace {

template <class T>
void split(T const* __restrict row, T* __restrict even, T* __restrict odd, std::int64_t n) {
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) {
    even[k] = row[2 * k];
    odd[k] = row[2 * k + 1];
  }
  even[n] = row[2 * n];
}

template <class T>
void merge(T* __restrict row, T const* __restrict even, T const* __restrict odd, std::int64_t n) {
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) {
    row[2 * k] += even[k];
    row[2 * k + 1] += odd[k];
  }
  row[2 * n] += even[n];
}

template <class T>
void multiply_add(T* __restrict out, T const* w, T const* x, std::int64_t n) {
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) out[k] += w[k] * x[k];
}

template <class T>
void couple(T* __restrict out, T const* a, T const* u, T const* centre, std::int64_t n) {
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) out[k] += a[k] * (u[k] - centre[k]);
}

template <class T>
void weigh(double* __restrict out, double const* a, T const* q, std::int64_t n) {
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) out[k] += a[k] * static_cast<double>(q[k]);
}

template <class T>
void congruence(double* __restrict out, T const* p, double const* a, T const* q, std::int64_t n) {
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) {
    out[k] += static_cast<double>(p[k]) * a[k] * static_cast<double>(q[k]);
  }
}

template <class T>
void chebyshev(T keep, T take, T const* w, T const* b, T const* k_x, T* __restrict d,
               T* __restrict x, std::int64_t n) {
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) {
    d[k] = keep * d[k] + take * (w[k] * (b[k] - k_x[k]));
    x[k] += d[k];
  }
}

void add(double* __restrict out, double const* a, double const* b, std::int64_t n) {
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) out[k] = a[k] + b[k];
}

void scale(double* __restrict out, double const* a, double factor, std::int64_t n) {
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) out[k] = factor * a[k];
}

template <class T>
constexpr Loops<T> all_loops{split<T>, merge<T>,      multiply_add<T>, couple<T>,
                             weigh<T>, congruence<T>, chebyshev<T>};

}  // namespace

Table const& table() {
  static constexpr Table result{all_loops<float>, all_loops<double>, {add, scale}};
  return result;
}

}  // namespace voxcycle::row_loops::VOXCYCLE_ISA
