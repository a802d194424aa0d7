// SPDX-License-Identifier: BSD-3-Clause
// What a GPU's library makes of our convolutions: cuDNN 9.8 to 9.10 gave wrong results for large
// fields of bf16 without a word.
#include "network/layers/slab_conv.hpp"

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/core/device.hpp"

#include <string>
#include <vector>

#include "../../unit/network/conv_gradients.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

using testing::backward;

constexpr auto kLayout = at::MemoryFormat::ChannelsLast3d;

struct Channels {
  std::int64_t in, out;
};

struct Kind {
  ConvKind kind;
  char const* name;
  std::vector<Channels> small;  ///< of the small fields
  Channels large;
};

std::vector<Kind> const kKinds{
    {ConvKind::same, "same", {{1, 8}, {2, 24}, {8, 8}, {16, 8}, {64, 64}, {12, 5}}, {8, 8}},
    {ConvKind::down, "down", {{8, 16}, {64, 64}, {3, 8}}, {8, 16}},
    {ConvKind::up, "up", {{16, 8}, {64, 64}, {8, 3}}, {16, 8}},
    {ConvKind::node, "node", {{8, 1}, {64, 1}}, {8, 8}},
};

/// Operands of one convolution; values that bf16 holds exactly.
struct Operands {
  Operands(Kind const& k, Channels channels, std::int64_t samples, std::vector<std::int64_t> n,
           at::TensorOptions const& options) {
    slab_conv::Geometry const g = k.kind;
    auto const random = [&](std::vector<std::int64_t> const& sizes) {
      return at::randint(-8, 9, sizes, options).div_(8).contiguous(kLayout);
    };
    x = random({samples, channels.in, n[0], n[1], n[2]});
    std::int64_t const first = g.transposed ? channels.in : channels.out;
    std::int64_t const second = g.transposed ? channels.out : channels.in;
    w = random({first, second, g.kernel, g.kernel, g.kernel});
    b = at::randint(-8, 9, {channels.out}, options).div_(8);
  }

  at::Tensor x, w, b;
};

struct Results {
  at::Tensor y, dx, dw;
};

/// As the network convolves and differentiates.
Results whole(Kind const& kind, Channels channels, Operands const& in, at::Tensor const& gradient) {
  Conv conv({.kind = kind.kind, .in = channels.in, .out = channels.out, .bias = Bias::yes});
  bool const exact = in.x.scalar_type() == at::kDouble;
  conv.weight.set_data(exact ? in.w : in.w.to(at::kFloat));
  conv.bias.set_data(exact ? in.b : in.b.to(at::kFloat));
  auto const comm = make_self_communicator();
  ForwardContext const context{.comm = *comm, .device = in.x.device(), .dtype = in.x.scalar_type()};
  at::Tensor const x = in.x.detach().requires_grad_();
  at::Tensor const y = conv.forward(context, MicroBatches{x}).at(0);
  y.backward(gradient);
  return {y.detach(), x.grad(), conv.weight.grad()};
}

double difference(at::Tensor const& a, at::Tensor const& expected) {
  at::Tensor const e = expected.to(at::kDouble);
  return ((a.to(e.device(), at::kDouble) - e).abs().max() / e.abs().max()).item<double>();
}

class ConvolutionsOnGpu : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    at::globalContext().setDeterministicCuDNN(GetParam());
    at::globalContext().setBenchmarkCuDNN(!GetParam());
    at::globalContext().setAllowTF32CuDNN(false);
    at::manual_seed(5);
  }
};

TEST_P(ConvolutionsOnGpu, EqualThoseOfTheCpu) {
  for (auto dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
    if (dtype == at::kHalf && !GetParam()) continue;  // the emulation takes long for it
    // Results of bf16 are rounded to eight bits twice, without and with the bias; fast algorithms
    // in float32 transform what they sum.
    double const allowed = dtype == at::kFloat ? 1e-4 : 2.0 / 256.0;
    for (auto const& kind : kKinds) {
      for (Channels const channels : kind.small) {
        SCOPED_TRACE(std::string(kind.name) + ", " + std::to_string(channels.in) + " to " +
                     std::to_string(channels.out) + " channels, " + at::toString(dtype));
        Operands const cpu(kind, channels, 2, {12, 10, 6}, at::kDouble);
        at::Tensor gradient = slab_conv::forward(kind.kind, {cpu.x}, cpu.w, cpu.b);
        gradient = at::randint_like(gradient, -8, 9).div_(8);
        Results const expected = whole(kind, channels, cpu, gradient);

        auto const moved = [&](at::Tensor const& t) { return t.to(dtype).cuda(); };
        Operands gpu = cpu;
        for (at::Tensor* t : {&gpu.x, &gpu.w, &gpu.b}) *t = moved(*t);
        Results const found = whole(kind, channels, gpu, moved(gradient));
        EXPECT_LT(difference(found.y.cpu(), expected.y), allowed);
        EXPECT_LT(difference(found.dx.cpu(), expected.dx), allowed);
        EXPECT_LT(difference(found.dw.cpu(), expected.dw), allowed);
        if (channels.in % 8 == 0 && channels.out % 8 == 0) {  // a sample after the other
          at::Tensor const dw = slab_conv::weight_gradient_in_slabs(kind.kind, moved(gradient),
                                                                    {gpu.x}, gpu.w, 100, 100);
          EXPECT_LT(difference(dw.cpu(), expected.dw), allowed);
        }
        if (!GetParam()) continue;
        Results const again = whole(kind, channels, gpu, moved(gradient));
        EXPECT_TRUE(at::equal(again.y, found.y));
        EXPECT_TRUE(at::equal(again.dx, found.dx));
        EXPECT_TRUE(at::equal(again.dw, found.dw));
      }
    }
  }
}

/// Voxels along an axis of fields of which 32 with eight channels of bf16 fit into the GPU.
std::int64_t large_size() {
  std::int64_t const memory = cuda_report().gpus.at(0).memory;
  std::int64_t n = 512;
  while (n > 16 && 32 * 8 * 2 * n * n * n > memory) n /= 2;
  return n;
}

TEST_P(ConvolutionsOnGpu, OfLargeFieldsEqualThoseOfTheirSlabs) {
  constexpr double allowed = 1e-2, of_weights = 2.0 / 256.0;  // rounded to bf16, both
  auto const on_gpu = at::device(at::kCUDA).dtype(at::kBFloat16);
  for (auto const& kind : kKinds) {
    std::int64_t const n = kind.kind == ConvKind::up ? large_size() / 2 : large_size();
    SCOPED_TRACE(std::string(kind.name) + ", " + std::to_string(n) + " voxels an axis");
    Operands const in(kind, kind.large, 1, {n, n, n}, on_gpu);
    std::int64_t const planes = n / 4;
    at::Tensor const y = slab_conv::forward_in_slabs(kind.kind, {in.x}, in.w, in.b, planes);
    // Mostly of one sign, so that sums over many voxels do not cancel.
    at::Tensor const gradient = at::randint_like(y, 0, 9).div_(8);
    at::Tensor const x = in.x.abs();
    auto const found = backward(kind.kind, gradient, {x}, in.w, true);
    auto const apart = [](at::Tensor const& a, at::Tensor const& b) {
      return ((a - b).abs().max().to(at::kDouble) / b.abs().max().to(at::kDouble)).item<double>();
    };
    EXPECT_LT(apart(slab_conv::forward(kind.kind, {in.x}, in.w, in.b), y), allowed);
    EXPECT_LT(
        apart(found.x.at(0),
              slab_conv::input_gradient_in_slabs(kind.kind, gradient, {x}, in.w, planes).at(0)),
        allowed);
    for (std::int64_t const rows : {n / 4, 2 * n}) {  // 2 n: not cut along y
      EXPECT_LT(apart(found.w, slab_conv::weight_gradient_in_slabs(kind.kind, gradient, {x}, in.w,
                                                                   planes / 4, rows)),
                of_weights);
    }
  }
}

// A convolution of one channel counts eight.
TEST(SlabsOnGpu, BeginWhereAConvolutionWouldCountTooManyElements) {
  auto const in_slabs = [](std::int64_t n) {
    auto const options = at::device(at::kCUDA).dtype(at::kBFloat16).memory_format(kLayout);
    return slab_conv::goes_in_slabs({at::empty({1, 1, n, n, n}, options)});
  };
  EXPECT_FALSE(in_slabs(640));
  EXPECT_TRUE(in_slabs(646));
}

// The default first: there may not be time for both.
INSTANTIATE_TEST_SUITE_P(Algorithms, ConvolutionsOnGpu, ::testing::Values(true, false),
                         [](auto const& each) { return each.param ? "Reproducible" : "Fastest"; });

}  // namespace
}  // namespace voxcycle
