// SPDX-License-Identifier: BSD-3-Clause
// Compiled once per instruction set; VOXCYCLE_ISA names the namespace.
#include "network/layers/tap_sums.hpp"

#include <algorithm>
#include <cstring>

namespace voxcycle::tap_sums::VOXCYCLE_ISA {
namespace {

using Lanes __attribute__((vector_size(kLanes * sizeof(float)))) = float;

/// One of the two fields as a tap sees it: the values for voxel v of a are `step` v further on.
struct View {
  float const* values;
  std::int64_t sample;
  std::array<std::int64_t, 3> step;
  std::int64_t channels;
};

View view(Field const& field, std::int64_t stride, std::array<std::int64_t, 3> const& shift) {
  std::int64_t const z = field.channels, y = z * field.size[2], x = y * field.size[1];
  return {field.values + shift[0] * x + shift[1] * y + shift[2] * z,
          x * field.size[0],
          {stride * x, stride * y, stride * z},
          field.channels};
}

/// What a tap sums up: voxels of a for which it meets b, and where its sums go. The field `lanes`
/// has its channels in vectors, `singles` has them one by one.
struct Tap {
  View singles, lanes;
  std::int64_t samples;
  std::array<std::int64_t, 3> begin, end;
  float* sums;
  std::int64_t single_step, lane_step;  ///< from channel to channel
};

/// Sums of `Count` channels of the one field with one vector of the other.
template <int Count>
void add_up(Tap const& tap, std::int64_t single, std::int64_t lane) {
  Lanes sums[Count] = {};
  auto const row = [&](View const& of, std::int64_t n, std::int64_t x, std::int64_t y) {
    return of.values + n * of.sample + x * of.step[0] + y * of.step[1] + tap.begin[2] * of.step[2];
  };
  for (std::int64_t n = 0; n < tap.samples; ++n) {
    for (std::int64_t x = tap.begin[0]; x < tap.end[0]; ++x) {
      for (std::int64_t y = tap.begin[1]; y < tap.end[1]; ++y) {
        float const* one = row(tap.singles, n, x, y) + single;
        float const* many = row(tap.lanes, n, x, y) + lane;
        for (std::int64_t z = tap.begin[2]; z < tap.end[2]; ++z) {
          Lanes values;
          std::memcpy(&values, many, sizeof(Lanes));
          for (int k = 0; k < Count; ++k) sums[k] += one[k] * values;
          one += tap.singles.step[2];
          many += tap.lanes.step[2];
        }
      }
    }
  }
  for (int k = 0; k < Count; ++k) {
    float* const to = tap.sums + (single + k) * tap.single_step + lane * tap.lane_step;
    if (tap.lane_step == 1) {
      std::memcpy(to, &sums[k], sizeof(Lanes));
    } else {
      for (std::int64_t j = 0; j < kLanes; ++j) to[j * tap.lane_step] = sums[k][j];
    }
  }
}

/// Sums of as many single channels as registers hold are made at once.
#ifdef __AVX512F__
constexpr int kMany = 16;
#else
constexpr int kMany = 4;
#endif

template <int Count>
std::int64_t add_up_from(Tap const& tap, std::int64_t single) {
  for (; single + Count <= tap.singles.channels; single += Count) {
    for (std::int64_t lane = 0; lane < tap.lanes.channels; lane += kLanes)
      add_up<Count>(tap, single, lane);
  }
  return single;
}

void of_tap(Sums const& of, std::int64_t number, float* sums) {
  std::int64_t const k = of.kernel;
  std::array<std::int64_t, 3> shift{number / (k * k), number / k % k, number % k};
  Tap tap{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    shift[axis] -= of.padding[axis];
    std::int64_t const from = std::max<std::int64_t>(-shift[axis], 0);
    std::int64_t const to = std::max<std::int64_t>(of.b.size[axis] - shift[axis], 0);
    tap.begin[axis] = (from + of.stride - 1) / of.stride;
    tap.end[axis] = std::min(of.a.size[axis], (to + of.stride - 1) / of.stride);
  }
  tap.samples = of.samples;
  tap.singles = view(of.a, 1, {});
  tap.lanes = view(of.b, of.stride, shift);
  tap.sums = sums + number * of.b.channels;
  tap.single_step = k * k * k * of.b.channels;
  tap.lane_step = 1;
  if (of.b.channels % kLanes != 0) {
    std::swap(tap.singles, tap.lanes);
    std::swap(tap.single_step, tap.lane_step);
  }
  add_up_from<1>(tap, add_up_from<4>(tap, add_up_from<kMany>(tap, 0)));
}

}  // namespace

Table const& table() {
  static Table const all{of_tap};
  return all;
}

}  // namespace voxcycle::tap_sums::VOXCYCLE_ISA
