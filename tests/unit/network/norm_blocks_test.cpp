// SPDX-License-Identifier: BSD-3-Clause
// The GPU's normalisation kernels, played on the CPU, against torch in float64 and the CPU's loops.
#include "../../../src/network/norm_blocks.hpp"

#include <array>
#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle::norm_blocks {
namespace {

using Order = EmulatedBlock::Order;

constexpr double slope = 0.1;
// Sums in float64, and products in float32 added up to 32 at a time.
constexpr double rounding = 1e-12;
constexpr double float_rounding = 1e-6;

struct Case {
  at::Tensor x, dy;  // [samples, rows, channels]
  at::Tensor a, b, mean, p, q;
};

template <class T>
constexpr at::ScalarType stored = at::kDouble;
template <>
constexpr at::ScalarType stored<float> = at::kFloat;
template <>
constexpr at::ScalarType stored<Bf16> = at::kBFloat16;

Case make_case(std::array<std::int64_t, 3> shape, at::ScalarType dtype, at::ScalarType compute,
               std::int64_t sets) {
  at::manual_seed(1);
  auto const coefficient = [&] { return at::randn({sets, shape[2]}, compute); };
  return {at::randn(shape, at::kDouble).to(dtype),
          at::randn(shape, at::kDouble).to(dtype),
          coefficient(),
          coefficient(),
          coefficient(),
          coefficient(),
          coefficient()};
}

template <class T, class Compute>
Job<T, Compute> make_job(Case const& c) {
  Job<T, Compute> job{};
  job.samples = c.x.size(0);
  job.rows = c.x.size(1);
  job.channels = c.x.size(2);
  job.x = static_cast<T const*>(c.x.const_data_ptr());
  job.dy = static_cast<T const*>(c.dy.const_data_ptr());
  auto const coefficient = [](at::Tensor const& values) {
    return Coefficient<Compute>{values.const_data_ptr<Compute>(),
                                values.size(0) == 1 ? 0 : values.size(1)};
  };
  job.a = coefficient(c.a);
  job.b = coefficient(c.b);
  job.mean = coefficient(c.mean);
  job.p = coefficient(c.p);
  job.q = coefficient(c.q);
  job.slope = static_cast<Compute>(slope);
  return job;
}

/// Plays a program of sums and the sums of its chunks: [samples, 2 channels].
template <class T, class Compute, class Program>
at::Tensor play_sums(Job<T, Compute> job, Order order, Program const& program) {
  Tiles const tiles = job.tiles();
  at::Tensor const partial =
      at::full({job.samples, 2 * job.channels, tiles.chunks}, std::nan(""), at::kDouble);
  at::Tensor const sums = at::full({job.samples, 2 * job.channels}, std::nan(""), at::kDouble);
  job.partial = partial.mutable_data_ptr<double>();
  EmulatedBlock block(order);
  Shared shared{};
  for (std::int64_t i = 0; i < tiles.blocks(); ++i) program(block, shared, job, i);
  for (std::int64_t i = 0; i < sums.numel(); ++i) {
    sum_row_block(block, shared.first, job.partial, tiles.chunks, sums.mutable_data_ptr<double>(),
                  i);
  }
  return sums;
}

template <class T, class Compute, class Program>
at::Tensor play_elements(Job<T, Compute> job, at::Tensor const& like, Program const& program) {
  at::Tensor out = at::full_like(like, std::nan(""));
  job.out = static_cast<T*>(out.mutable_data_ptr());
  EmulatedBlock block(Order::upwards);
  for (std::int64_t i = 0; i < job.tiles().blocks(); ++i) program(block, job, i);
  return out;
}

double difference(at::Tensor const& found, at::Tensor const& expected) {
  at::Tensor const a = found.to(at::kDouble), b = expected.to(at::kDouble);
  return ((a - b).abs().max() / b.abs().max()).item<double>();
}

template <class T, class Compute>
void expect_mathematics(std::array<std::int64_t, 3> shape, std::int64_t sets) {
  auto const compute = sizeof(Compute) == 8 ? at::kDouble : at::kFloat;
  Case const c = make_case(shape, stored<T>, compute, sets);
  auto const job = make_job<T, Compute>(c);
  double const allowed = compute == at::kDouble ? rounding : float_rounding;
  // Rounding to bfloat16's 8 bits, of the largest value.
  double const allowed_stored = stored<T> == at::kBFloat16 ? 1.0 / 256 : 4 * allowed;

  at::Tensor const x = c.x.to(at::kDouble), dy = c.dy.to(at::kDouble);
  auto const wide = [](at::Tensor const& t) { return t.to(at::kDouble).unsqueeze(1); };
  at::Tensor const z = wide(c.a) * x + wide(c.b);
  at::Tensor const g = at::where(z > 0, dy, static_cast<Compute>(slope) * dy);
  at::Tensor const y = at::where(z > 0, z, static_cast<Compute>(slope) * z);
  at::Tensor const dx = wide(c.a) * g + wide(c.p) * x + wide(c.q);
  at::Tensor const moments_expected = at::cat({x.sum(1), (x * x).sum(1)}, 1);
  at::Tensor const backward_expected = at::cat({g.sum(1), (g * (x - wide(c.mean))).sum(1)}, 1);

  for (auto order : {Order::upwards, Order::downwards}) {
    auto const first = [](auto& block, auto& shared, auto const& j, auto i) {
      moments(block, shared, j, i);
    };
    auto const second = [](auto& block, auto& shared, auto const& j, auto i) {
      backward_moments(block, shared, j, i);
    };
    EXPECT_LT(difference(play_sums(job, order, first), moments_expected), allowed);
    EXPECT_LT(difference(play_sums(job, order, second), backward_expected), allowed);
  }
  auto const run_forward = [](auto& block, auto const& j, auto i) { forward(block, j, i); };
  auto const run_backward = [](auto& block, auto const& j, auto i) { backward(block, j, i); };
  EXPECT_LT(difference(play_elements(job, c.x, run_forward), y), allowed_stored);
  EXPECT_LT(difference(play_elements(job, c.x, run_backward), dx), allowed_stored);
}

// [samples, rows, channels]: one row, channels that do not divide the threads, several chunks, and
// more channels than threads.
class NormBlocks : public ::testing::TestWithParam<std::array<std::int64_t, 3>> {};

TEST_P(NormBlocks, FollowTheMathematics) {
  for (std::int64_t sets : {std::int64_t{1}, GetParam()[0]}) {
    expect_mathematics<double, double>(GetParam(), sets);
    expect_mathematics<float, float>(GetParam(), sets);
    expect_mathematics<Bf16, float>(GetParam(), sets);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, NormBlocks,
                         ::testing::Values(std::array<std::int64_t, 3>{1, 1, 1},
                                           std::array<std::int64_t, 3>{2, 100, 24},
                                           std::array<std::int64_t, 3>{3, 5000, 8},
                                           std::array<std::int64_t, 3>{1, 20000, 1},
                                           std::array<std::int64_t, 3>{2, 90, 300}));

TEST(NormBlocksBits, ElementsHaveTheBitsOfTheCpu) {
  Case const c = make_case({1, 700, 12}, at::kBFloat16, at::kFloat, 1);
  auto const job = make_job<Bf16, float>(c);
  auto const& loops = norm_rows::table().bf16;
  at::Tensor const y = at::empty_like(c.x), dx = at::empty_like(c.x);
  loops.forward(job.x, 700, 12, job.a.values, job.b.values, job.slope,
                static_cast<Bf16*>(y.mutable_data_ptr()));
  loops.backward(job.dy, job.x, 700, 12, job.a.values, job.b.values, job.p.values, job.q.values,
                 job.slope, static_cast<Bf16*>(dx.mutable_data_ptr()));
  auto const run_forward = [](auto& block, auto const& j, auto i) { forward(block, j, i); };
  auto const run_backward = [](auto& block, auto const& j, auto i) { backward(block, j, i); };
  EXPECT_TRUE(at::equal(play_elements(job, c.x, run_forward), y));
  EXPECT_TRUE(at::equal(play_elements(job, c.x, run_backward), dx));
}

}  // namespace
}  // namespace voxcycle::norm_blocks
