// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/operator/row_loops.hpp"

#include <cstring>
#include <type_traits>

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
void widen(double* __restrict out, T const* x, std::int64_t n) {
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) out[k] = static_cast<double>(x[k]);
}

template <class T>
void narrow(T* __restrict out, double const* x, std::int64_t n) {
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) out[k] = static_cast<T>(x[k]);
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

template <class T>
void lanczos(T alpha, T beta2, T const* scale, T const* k_x, T const* y, T* __restrict other,
             T* __restrict x, std::int64_t n) {
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) {
    other[k] = scale[k] * k_x[k] - alpha * y[k] - beta2 * other[k];
    x[k] = scale[k] * other[k];
  }
}

void add(double* __restrict out, double const* a, std::int64_t n) {
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) out[k] += a[k];
}

void subtract(double* __restrict out, double const* a, std::int64_t n) {
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) out[k] -= a[k];
}

void divide(double* __restrict x, double const* divisor, double minimum, double maximum,
            double* __restrict sense, std::int64_t n) {
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) {
    x[k] /= divisor[k];
    sense[k] = x[k] >= minimum && x[k] <= maximum ? sense[k] : 0.0;
  }
}

void replace(double* __restrict x, double const* sense, double otherwise, std::int64_t n) {
#pragma omp simd
  for (std::int64_t k = 0; k < n; ++k) x[k] = sense[k] == 0.0 ? otherwise : x[k];
}

// Values in registers across an inner loop, which compilers do not keep there by themselves.
constexpr std::int64_t lanes = 8;
using Lanes = double __attribute__((vector_size(lanes * sizeof(double))));

// By reference: returned, they would belong to the binary interface of one instruction set.
template <class V>
void load(double const* from, V& value) {
  std::memcpy(&value, from, sizeof(value));
}

template <class V>
void store(V const& value, double* to) {
  std::memcpy(to, &value, sizeof(value));
}

// Calls body(k, type of the values) for all k < n, many at a time as long as there are.
template <class Body>
void in_lanes(std::int64_t n, Body const& body) {
  std::int64_t k = 0;
  for (; k + lanes <= n; k += lanes) body(k, std::type_identity<Lanes>());
  for (; k < n; ++k) body(k, std::type_identity<double>());
}

void congruence(double* __restrict out, double const* p, double const* const* a,
                double const* const* q, int terms, std::int64_t n) {
  in_lanes(n, [=]<class V>(std::int64_t k, std::type_identity<V>) {
    V even{}, odd{}, factor, other;  // two sums: each addition waits for the one before
    int i = 0;
    for (; i + 1 < terms; i += 2) {
      load(a[i] + k, factor);
      load(q[i] + k, other);
      even += factor * other;
      load(a[i + 1] + k, factor);
      load(q[i + 1] + k, other);
      odd += factor * other;
    }
    if (i < terms) {
      load(a[i] + k, factor);
      load(q[i] + k, other);
      even += factor * other;
    }
    load(p + k, factor);
    load(out + k, other);
    store<V>(other + factor * (even + odd), out + k);
  });
}

// Which of two neighbouring voxels an entry sums over, along one axis: a neighbour before shares
// the lower one, one behind the higher, none both.
enum { low = 0, both = 1, high = 2 };

void voxel_stencil(double* const* out, double const* const* nu, double const* element,
                   std::int64_t n) {
  in_lanes(n, [=]<class V>(std::int64_t k, std::type_identity<V>) {
    V sums[3][3][3];
    for (int i = 0; i < 8; ++i) load(nu[i] + k, sums[i / 4 * 2][i / 2 % 2 * 2][i % 2 * 2]);
    for (int x = low; x <= high; x += high) {
      for (int y = low; y <= high; y += high) {
        sums[x][y][both] = sums[x][y][low] + sums[x][y][high];
      }
      for (int z = low; z <= high; ++z) sums[x][both][z] = sums[x][low][z] + sums[x][high][z];
    }
    for (int i = 0; i < 9; ++i) {
      sums[both][i / 3][i % 3] = sums[low][i / 3][i % 3] + sums[high][i / 3][i % 3];
    }
    for (int t = 0; t < 27; ++t) {
      int const x = t / 9, y = t / 3 % 3, z = t % 3;
      store<V>(sums[x][y][z] * element[4 * (x != both) + 2 * (y != both) + (z != both)],
               out[t] + k);
    }
  });
}

template <class T>
constexpr Loops<T> all_loops{split<T>, merge<T>,  multiply_add<T>, couple<T>, weigh<T>,
                             widen<T>, narrow<T>, chebyshev<T>,    lanczos<T>};

}  // namespace

Table const& table() {
  static constexpr Table result{all_loops<float>,
                                all_loops<double>,
                                {add, subtract, congruence, divide, replace, voxel_stencil}};
  return result;
}

}  // namespace voxcycle::row_loops::VOXCYCLE_ISA
