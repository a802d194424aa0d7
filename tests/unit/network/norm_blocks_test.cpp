// SPDX-License-Identifier: BSD-3-Clause
// The GPU's normalisation kernels, played on the CPU, against torch in float64 and the CPU's loops.
#include "network/layers/norm_blocks.hpp"

#include <array>
#include <cmath>
#include <type_traits>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle::norm_blocks {
namespace norm_blocks_test {

using Order = EmulatedBlock::Order;

constexpr double leak = 0.1;
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
template <>
constexpr at::ScalarType stored<F16> = at::kHalf;

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
  job.leak = static_cast<Compute>(leak);
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
    sum_row_block(block, shared.values, job.partial, tiles.chunks, sums.mutable_data_ptr<double>(),
                  i);
  }
  return sums;
}

at::Tensor nan_like(at::Tensor const& like) {
  return at::full_like(like, std::nan(""));
}

template <class T, class Compute, class Program>
at::Tensor play_elements(Job<T, Compute> job, at::Tensor const& out, Order order,
                         Program const& program) {
  job.out = static_cast<T*>(out.mutable_data_ptr());
  EmulatedBlock block(order);
  for (std::int64_t i = 0; i < job.tiles().blocks(); ++i) program(block, job, i);
  return out;
}

constexpr auto run_moments = [](auto& block, auto& shared, auto const& job, auto index) {
  moments(block, shared, job, index);
};
constexpr auto run_backward_moments = [](auto& block, auto& shared, auto const& job, auto index) {
  backward_moments(block, shared, job, index);
};
constexpr auto run_forward = [](auto& block, auto const& job, auto index) {
  forward(block, job, index);
};
constexpr auto run_backward = [](auto& block, auto const& job, auto index) {
  backward(block, job, index);
};

/// The same values, not aligned to more than one of them.
at::Tensor misaligned(at::Tensor const& values) {
  at::Tensor const room = at::empty({values.numel() + 1}, values.options());
  return room.narrow(0, 1, values.numel()).view(values.sizes()).copy_(values);
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
  // Rounding to bfloat16's 8 or float16's 11 bits, of the largest value.
  double const allowed_stored = stored<T> == at::kBFloat16 ? 1.0 / 256
                                : stored<T> == at::kHalf   ? 1.0 / 2048
                                                           : 4 * allowed;

  at::Tensor const x = c.x.to(at::kDouble), dy = c.dy.to(at::kDouble);
  auto const wide = [](at::Tensor const& t) { return t.to(at::kDouble).unsqueeze(1); };
  at::Tensor const z = wide(c.a) * x + wide(c.b);
  at::Tensor const g = at::where(z > 0, dy, static_cast<Compute>(leak) * dy);
  at::Tensor const y = at::where(z > 0, z, static_cast<Compute>(leak) * z);
  at::Tensor const dx = wide(c.a) * g + wide(c.p) * x + wide(c.q);
  at::Tensor const moments_expected = at::cat({x.sum(1), (x * x).sum(1)}, 1);
  at::Tensor const backward_expected = at::cat({g.sum(1), (g * (x - wide(c.mean))).sum(1)}, 1);

  for (auto order : {Order::upwards, Order::downwards}) {
    EXPECT_LT(difference(play_sums(job, order, run_moments), moments_expected), allowed);
    EXPECT_LT(difference(play_sums(job, order, run_backward_moments), backward_expected), allowed);
    EXPECT_LT(difference(play_elements(job, nan_like(c.x), order, run_forward), y), allowed_stored);
    EXPECT_LT(difference(play_elements(job, nan_like(c.x), order, run_backward), dx),
              allowed_stored);
  }
}

// [samples, rows, channels]: one row; channels for vectors of every length, and such that do not
// divide the threads; several chunks; more channels than threads, and more vectors than threads.
class NormBlocks : public ::testing::TestWithParam<std::array<std::int64_t, 3>> {};

TEST_P(NormBlocks, FollowTheMathematics) {
  for (std::int64_t sets : {std::int64_t{1}, GetParam()[0]}) {
    expect_mathematics<double, double>(GetParam(), sets);
    expect_mathematics<float, float>(GetParam(), sets);
    expect_mathematics<Bf16, float>(GetParam(), sets);
    expect_mathematics<F16, float>(GetParam(), sets);
  }
}

using Shape = std::array<std::int64_t, 3>;

INSTANTIATE_TEST_SUITE_P(Shapes, NormBlocks,
                         ::testing::Values(Shape{1, 1, 1}, Shape{1, 1, 8}, Shape{2, 100, 24},
                                           Shape{3, 5000, 8}, Shape{1, 20000, 1}, Shape{2, 1500, 3},
                                           Shape{3, 1111, 4}, Shape{2, 700, 6}, Shape{2, 513, 12},
                                           Shape{3, 1025, 16}, Shape{2, 333, 64}, Shape{2, 90, 300},
                                           Shape{2, 37, 301}, Shape{1, 9, 2100}));

template <class T>
auto const& cpu_loops() {
  auto const& table = norm_rows::table();
  if constexpr (std::is_same_v<T, Bf16>) {
    return table.bf16;
  } else if constexpr (std::is_same_v<T, F16>) {
    return table.f16;
  } else if constexpr (std::is_same_v<T, float>) {
    return table.f32;
  } else {
    return table.f64;
  }
}

/// One sample, against the CPU.
template <class T, class Compute>
void expect_bits(std::int64_t rows, std::int64_t channels) {
  SCOPED_TRACE(::testing::Message() << rows << " rows, " << channels << " channels");
  auto const compute = sizeof(Compute) == 8 ? at::kDouble : at::kFloat;
  Case const c = make_case({1, rows, channels}, stored<T>, compute, 1);
  auto const job = make_job<T, Compute>(c);
  at::Tensor const y = at::empty_like(c.x), dx = at::empty_like(c.x);
  cpu_loops<T>().forward(job.x, rows, channels, job.a.values, job.b.values, job.leak,
                         static_cast<T*>(y.mutable_data_ptr()));
  cpu_loops<T>().backward(job.dy, job.x, rows, channels, job.a.values, job.b.values, job.p.values,
                          job.q.values, job.leak, static_cast<T*>(dx.mutable_data_ptr()));
  auto const played = [&](auto const& program) {
    return play_elements(job, nan_like(c.x), Order::upwards, program);
  };
  EXPECT_TRUE(at::equal(played(run_forward), y));
  EXPECT_TRUE(at::equal(played(run_backward), dx));
  // In place, last, for it overwrites the operands.
  EXPECT_TRUE(at::equal(play_elements(job, c.dy, Order::downwards, run_backward), dx));
  EXPECT_TRUE(at::equal(play_elements(job, c.x, Order::downwards, run_forward), y));
}

TEST(NormBlocksBits, ElementsHaveTheBitsOfTheCpu) {
  for (std::int64_t channels : {1, 3, 6, 8, 12, 64, 300}) {
    expect_bits<Bf16, float>(700, channels);
    expect_bits<F16, float>(700, channels);
    expect_bits<float, float>(700, channels);
    expect_bits<double, double>(700, channels);
  }
}

// Grids on which threads take more rows than are on their way at a time; 1.2 million vectors.
TEST(NormBlocksBits, AlsoWhereThreadsTakeManyRows) {
  expect_bits<Bf16, float>(1200007, 8);
  expect_bits<float, float>(1200007, 4);
  expect_bits<double, double>(1200007, 2);
  expect_bits<double, double>(2400007, 1);
}

TEST(NormBlocksSums, FollowTheMathematicsWhereThreadsTakeManyRows) {
  expect_mathematics<Bf16, float>({1, 600007, 8}, 1);
  expect_mathematics<float, float>({1, 600007, 4}, 1);
  expect_mathematics<double, double>({1, 1200007, 2}, 1);
}

template <class T, class Compute>
void expect_the_same_misaligned(Shape shape) {
  auto const compute = sizeof(Compute) == 8 ? at::kDouble : at::kFloat;
  Case const c = make_case(shape, stored<T>, compute, shape[0]);
  Case shifted = c;
  shifted.x = misaligned(c.x);
  shifted.dy = misaligned(c.dy);
  Case one_shifted = c;
  one_shifted.dy = shifted.dy;
  auto const aligned_job = make_job<T, Compute>(c);
  for (Case const* other : {&shifted, &one_shifted}) {
    auto const job = make_job<T, Compute>(*other);
    auto const order = Order::downwards;
    EXPECT_TRUE(
        at::equal(play_sums(job, order, run_moments), play_sums(aligned_job, order, run_moments)));
    EXPECT_TRUE(at::equal(play_sums(job, order, run_backward_moments),
                          play_sums(aligned_job, order, run_backward_moments)));
    for (auto const& out : {nan_like(c.x), misaligned(nan_like(c.x))}) {
      EXPECT_TRUE(at::equal(play_elements(job, out, order, run_forward).clone(),
                            play_elements(aligned_job, nan_like(c.x), order, run_forward)));
      EXPECT_TRUE(at::equal(play_elements(job, out, order, run_backward),
                            play_elements(aligned_job, nan_like(c.x), order, run_backward)));
    }
  }
}

TEST(NormBlocksAddresses, ChangeNoBit) {
  for (Shape shape : {Shape{2, 900, 8}, Shape{2, 700, 12}, Shape{1, 300, 6}, Shape{2, 100, 3}}) {
    expect_the_same_misaligned<Bf16, float>(shape);
    expect_the_same_misaligned<float, float>(shape);
    expect_the_same_misaligned<double, double>(shape);
  }
}

template <class Expected, class T, class Compute>
void expect_programs(Job<T, Compute> const& job) {
  with_programs(job, [](auto programs) {
    EXPECT_TRUE((std::is_same_v<decltype(programs), std::type_identity<Expected>>));
  });
}

TEST(NormBlocksAddresses, VectorsAreAsLongAsTheyAllow) {
  alignas(16) std::array<Bf16, 16> values{};
  Job<Bf16, float> job{};
  job.samples = job.rows = 1;
  job.x = values.data();
  job.channels = 24;
  expect_programs<Programs<Bf16, float, 8, true>>(job);
  job.channels = 12;
  expect_programs<Programs<Bf16, float, 4, true>>(job);
  job.channels = 6;
  expect_programs<Programs<Bf16, float, 2, true>>(job);
  job.channels = 7;
  expect_programs<Programs<Bf16, float, 1, true>>(job);
  job.channels = 8;
  for (auto const** operand : {&job.x, &job.dy}) {
    *operand = values.data() + 4;
    expect_programs<Programs<Bf16, float, 8, false>>(job);
    *operand = nullptr;
  }
  job.out = values.data() + 1;
  expect_programs<Programs<Bf16, float, 8, false>>(job);
}

TEST(NormBlocksStore, RoundsToEvenAndKeepsWhatIsNotFinite) {
  auto const stored_bits = [](std::uint32_t bits) {
    Bf16 out;
    store(__builtin_bit_cast(float, bits), &out);
    return out.bits;
  };
  EXPECT_EQ(stored_bits(0x3f808000), 0x3f80);
  EXPECT_EQ(stored_bits(0x3f818000), 0x3f82);
  EXPECT_EQ(stored_bits(0xff800000), 0xff80) << "minus infinity";
  for (std::uint32_t const nan : {0x7fffffffU, 0xffffffffU, 0x7fc00000U, 0xffc00000U}) {
    EXPECT_TRUE(std::isnan(load(Bf16{stored_bits(nan)}))) << nan << ": of a GPU and of a CPU";
  }
}

TEST(NormBlocksFloat16, EveryNumberIsReadAsTorchDoes) {
  at::Tensor const all = at::arange(1 << 16, at::kInt).to(at::kShort);
  at::Tensor const expected = all.view(at::kHalf).to(at::kFloat);
  at::Tensor const found = at::empty_like(expected);
  auto const* bits = all.const_data_ptr<std::int16_t>();
  for (std::int64_t i = 0; i < all.numel(); ++i)
    found.mutable_data_ptr<float>()[i] = load(F16{static_cast<std::uint16_t>(bits[i])});
  EXPECT_TRUE(at::allclose(found, expected, 0.0, 0.0, /*equal_nan=*/true));
}

/// Bit patterns of float32 all over their range, and each pair of neighbours in float16, the middle
/// between them and what is next to the middle.
TEST(NormBlocksFloat16, IsRoundedAsByTorch) {
  at::manual_seed(1);
  at::Tensor const any = at::randint(-(1LL << 31), 1LL << 31, {1 << 20}, at::kLong);
  at::Tensor const halves = at::arange(0x7bff, at::kInt).to(at::kShort).view(at::kHalf);
  at::Tensor const next = at::arange(1, 0x7c00, at::kInt).to(at::kShort).view(at::kHalf);
  at::Tensor const middle = (halves.to(at::kFloat) + next.to(at::kFloat)) / 2;
  at::Tensor const bits = middle.view(at::kInt);
  at::Tensor const values =
      at::cat({any.to(at::kInt).view(at::kFloat), middle, -middle, (bits + 1).view(at::kFloat),
               (bits - 1).view(at::kFloat), at::tensor({65504.0F, 65519.9F, 65520.0F, 1e30F})});
  at::Tensor const expected = values.to(at::kHalf), found = at::empty_like(expected);
  for (std::int64_t i = 0; i < values.numel(); ++i)
    store(values.const_data_ptr<float>()[i], static_cast<F16*>(found.mutable_data_ptr()) + i);
  EXPECT_TRUE(at::allclose(found, expected, 0.0, 0.0, /*equal_nan=*/true));
  EXPECT_TRUE(at::equal(found.signbit(), expected.signbit()));
}

TEST(NormBlocksTiles, NoSamplesAreNoBlocks) {
  EXPECT_EQ(Tiles(0, 1000, 8, 8).blocks(), 0);
  EXPECT_EQ(Tiles(2, 0, 8, 8).blocks(), 0);
}

TEST(NormBlocksTiles, NoRowsAddUpToZero) {
  Case const c = make_case({2, 0, 8}, at::kFloat, at::kFloat, 1);
  EXPECT_TRUE(at::equal(play_sums(make_job<float, float>(c), Order::upwards, run_moments),
                        at::zeros({2, 16}, at::kDouble)));
}

TEST(NormBlocksTiles, FillTheGpuAndGiveThreadsEnoughToDo) {
  Tiles const small(1, 32 * 32 * 32, 16, 8), middle(1, 1 << 21, 8, 8), large(1, 1 << 27, 8, 8);
  EXPECT_EQ(small.chunks, 128);
  EXPECT_EQ(middle.chunks, Tiles::enough_blocks);
  EXPECT_EQ(large.chunk_rows, Tiles::max_rows * block_threads);
}

// What a sample adds up to depends on nothing beside it.
TEST(NormBlocksSums, OfASampleAreTheSameInEveryBatch) {
  Case const c = make_case({3, 5001, 8}, at::kBFloat16, at::kFloat, 1);
  Case last = c;
  last.x = c.x[2].unsqueeze(0);
  last.dy = c.dy[2].unsqueeze(0);
  auto const all = make_job<Bf16, float>(c), one = make_job<Bf16, float>(last);
  auto const order = Order::upwards;
  EXPECT_TRUE(
      at::equal(play_sums(all, order, run_moments)[2], play_sums(one, order, run_moments)[0]));
  EXPECT_TRUE(at::equal(play_sums(all, order, run_backward_moments)[2],
                        play_sums(one, order, run_backward_moments)[0]));
}

}  // namespace norm_blocks_test
}  // namespace voxcycle::norm_blocks
