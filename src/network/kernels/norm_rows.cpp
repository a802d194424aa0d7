// SPDX-License-Identifier: BSD-3-Clause
// Compiled once per instruction set; VOXCYCLE_ISA names the namespace.
#include "network/layers/norm_rows.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace voxcycle::norm_rows::VOXCYCLE_ISA {
namespace {

/// Rows are taken in blocks of a multiple of `channels` that fills vector registers.
constexpr std::int64_t kBlock = 64;
/// Partial sums are kept in Compute for this many blocks, then added to double.
constexpr std::int64_t kFlush = 64;

inline float load(Bf16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}
inline float load(float value) {
  return value;
}
inline double load(double value) {
  return value;
}

inline void store(float value, Bf16* to) {
  // Round to nearest even; values are finite or the run stops anyway.
  auto const bits = std::bit_cast<std::uint32_t>(value);
  to->bits = static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}
inline void store(float value, float* to) {
  *to = value;
}
inline void store(double value, double* to) {
  *to = value;
}

std::int64_t block_of(std::int64_t channels) {
  return channels * std::max<std::int64_t>(1, kBlock / channels);
}

template <class Compute>
std::vector<Compute> repeated(Compute const* values, std::int64_t channels) {
  std::vector<Compute> row(static_cast<std::size_t>(block_of(channels)));
  for (std::size_t i = 0; i < row.size(); ++i) {
    row[i] = values[i % static_cast<std::size_t>(channels)];
  }
  return row;
}

/// Calls body(offset, length) for consecutive blocks of `rows` rows.
template <class Body>
inline void for_blocks(std::int64_t rows, std::int64_t channels, Body const& body) {
  std::int64_t const size = rows * channels;
  std::int64_t const block = block_of(channels);
  for (std::int64_t offset = 0; offset < size; offset += block) {
    body(offset, std::min(block, size - offset));
  }
}

/// Two running sums a channel, in Compute for short stretches and double beyond.
template <class Compute>
class PairSums {
 public:
  explicit PairSums(std::int64_t channels)
      : channels_(channels),
        block_(block_of(channels)),
        first(2 * block_),
        second(first.data() + block_),
        wide_(2 * block_) {}

  void count_block() {
    if (++blocks_ % kFlush == 0) flush();
  }
  void write(double* sums) {
    flush();
    for (std::int64_t c = 0; c < 2 * channels_; ++c) sums[c] = 0.0;
    for (std::int64_t i = 0; i < block_; ++i) {
      sums[i % channels_] += wide_[i];
      sums[channels_ + i % channels_] += wide_[block_ + i];
    }
  }

 private:
  std::int64_t channels_;
  std::int64_t block_;

 public:
  std::vector<Compute> first;
  Compute* second;

 private:
  void flush() {
    for (std::size_t i = 0; i < first.size(); ++i) {
      wide_[i] += first[i];
      first[i] = 0;
    }
  }
  std::vector<double> wide_;
  std::int64_t blocks_ = 0;
};

template <class T, class Compute>
void moments(T const* x, std::int64_t rows, std::int64_t channels, double* sums) {
  PairSums<Compute> pair(channels);
  Compute* __restrict first = pair.first.data();
  Compute* __restrict second = pair.second;
  for_blocks(rows, channels, [&](std::int64_t offset, std::int64_t length) {
    T const* __restrict from = x + offset;
#pragma omp simd
    for (std::int64_t i = 0; i < length; ++i) {
      Compute const value = load(from[i]);
      first[i] += value;
      second[i] += value * value;
    }
    pair.count_block();
  });
  pair.write(sums);
}

template <class T, class Compute>
void forward(T const* x, std::int64_t rows, std::int64_t channels, Compute const* a,
             Compute const* b, Compute leak, T* y) {
  auto const a_row = repeated(a, channels);
  auto const b_row = repeated(b, channels);
  Compute const* __restrict scale = a_row.data();
  Compute const* __restrict shift = b_row.data();
  for_blocks(rows, channels, [&](std::int64_t offset, std::int64_t length) {
    T const* from = x + offset;
    T* to = y + offset;
#pragma omp simd
    for (std::int64_t i = 0; i < length; ++i) {
      Compute const value = scale[i] * load(from[i]) + shift[i];
      store(value > 0 ? value : leak * value, to + i);
    }
  });
}

template <class T, class Compute>
void backward_moments(T const* dy, T const* x, std::int64_t rows, std::int64_t channels,
                      Compute const* a, Compute const* b, Compute const* mean, Compute leak,
                      double* sums) {
  auto const a_row = repeated(a, channels);
  auto const b_row = repeated(b, channels);
  auto const m_row = repeated(mean, channels);
  Compute const* __restrict scale = a_row.data();
  Compute const* __restrict shift = b_row.data();
  Compute const* __restrict centre = m_row.data();
  PairSums<Compute> pair(channels);
  Compute* __restrict first = pair.first.data();
  Compute* __restrict second = pair.second;
  for_blocks(rows, channels, [&](std::int64_t offset, std::int64_t length) {
    T const* __restrict from = x + offset;
    T const* __restrict gradients = dy + offset;
#pragma omp simd
    for (std::int64_t i = 0; i < length; ++i) {
      Compute const value = load(from[i]);
      Compute const d = load(gradients[i]);
      Compute const g = scale[i] * value + shift[i] > 0 ? d : leak * d;
      first[i] += g;
      second[i] += g * (value - centre[i]);
    }
    pair.count_block();
  });
  pair.write(sums);
}

template <class T, class Compute>
void backward(T const* dy, T const* x, std::int64_t rows, std::int64_t channels, Compute const* a,
              Compute const* b, Compute const* p, Compute const* q, Compute leak, T* dx) {
  auto const a_row = repeated(a, channels);
  auto const b_row = repeated(b, channels);
  auto const p_row = repeated(p, channels);
  auto const q_row = repeated(q, channels);
  Compute const* __restrict scale = a_row.data();
  Compute const* __restrict shift = b_row.data();
  Compute const* __restrict linear = p_row.data();
  Compute const* __restrict constant = q_row.data();
  for_blocks(rows, channels, [&](std::int64_t offset, std::int64_t length) {
    T const* from = x + offset;
    T const* gradients = dy + offset;
    T* to = dx + offset;
#pragma omp simd
    for (std::int64_t i = 0; i < length; ++i) {
      Compute const value = load(from[i]);
      Compute const d = load(gradients[i]);
      Compute const g = scale[i] * value + shift[i] > 0 ? d : leak * d;
      store(scale[i] * g + linear[i] * value + constant[i], to + i);
    }
  });
}

template <class T, class Compute>
Loops<T, Compute> loops() {
  return {moments<T, Compute>, forward<T, Compute>, backward_moments<T, Compute>,
          backward<T, Compute>};
}

}  // namespace

Table const& table() {
  static Table const all{loops<Bf16, float>(), loops<F16, float>(), loops<float, float>(),
                         loops<double, double>()};
  return all;
}

}  // namespace voxcycle::norm_rows::VOXCYCLE_ISA
