// SPDX-License-Identifier: BSD-3-Clause
#include "network/multigrid/level_equation.hpp"

#include "voxcycle/network/multigrid_network.hpp"

#include "networks.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

using testing::default_frame;

Grid3 const kGrid = Grid3::cube(8);

/// Linear maps that tell levels apart: up by the nearest coarser node times level + 2, smoothing
/// times level + 3.
class Marked final : public NestedFields {
 public:
  /// @param finest  voxels along an axis
  Marked(std::int64_t samples, std::int64_t finest, int levels)
      : samples_(samples), nodes_((finest >> (levels - 1)) + 1) {}

  at::Tensor coarsest() const override {
    return at::full({samples_, 1, nodes_, nodes_, nodes_}, 0.25);
  }
  at::Tensor prolonged(int level, at::Tensor const& u) const override {
    at::Tensor x = u;
    for (int axis = 2; axis < 5; ++axis) {
      x = at::repeat_interleave(x, 2, axis);
      x = x.narrow(axis, 0, x.size(axis) - 1);
    }
    return x * (level + 2.0);
  }
  at::Tensor restricted(int level, at::Tensor const& gradient) const override {
    at::Tensor x = at::constant_pad_nd(gradient, {0, 1, 0, 1, 0, 1});
    for (int axis = 2; axis < 5; ++axis) {
      x = x.unflatten(axis, at::IntArrayRef{x.size(axis) / 2, 2}).sum(axis + 1);
    }
    return x * (level + 2.0);
  }
  at::Tensor smooth(int level, at::Tensor const& u) const override { return u * (level + 3.0); }
  at::Tensor transposed(int level, at::Tensor const& gradient) const override {
    return gradient * (level + 3.0);
  }
  at::Tensor smooth_change(int level, at::Tensor const& v) const override {
    return smooth(level, v);
  }
  at::Tensor residual(int level, at::Tensor const& u) const override { return -product(level, u); }
  at::Tensor product(int level, at::Tensor const& v) const override { return v * (level + 1.0); }

 private:
  std::int64_t samples_, nodes_;
};

NodalFrame marked_frame(Grid3 const& grid, at::Device device) {
  NodalFrame frame = default_frame(grid, device);
  frame.nested = [](at::Tensor const& x, at::ScalarType, int levels) {
    return std::make_shared<Marked>(x.size(0), x.size(2), levels);
  };
  return frame;
}

std::shared_ptr<Network> network_of(FrameOfGrid const& frame) {
  NetworkOptions options;
  options.channels = {{2, 3}, {4, 3}, {8, 2}};
  options.norm = Norm::none;
  return make_network(options, frame);
}

TEST(LevelEquation, UntrainedNetworkIsTheWayUpOfItsNestedGrids) {
  auto const comm = make_self_communicator();
  ForwardContext const context{*comm};
  auto const network = network_of(marked_frame);
  at::NoGradGuard const no_grad;
  MicroBatches const x{at::randn({2, 1, 8, 8, 8}), at::randn({0, 1, 8, 8, 8}),
                       at::randn({1, 1, 8, 8, 8})};
  MicroBatches const u = network->forward(context, kGrid, x);
  ASSERT_EQ(u.size(), 3U);
  // Levels 2, 1, 0: smoothing by 5, 4, 3; up by 3, 2.
  EXPECT_TRUE(at::equal(u[0], at::full({2, 1, 9, 9, 9}, 0.25 * 5 * 3 * 4 * 2 * 3)));
  EXPECT_EQ(u[1].sizes(), (at::IntArrayRef{0, 1, 9, 9, 9}));
  EXPECT_TRUE(at::equal(u[2], u[0].narrow(0, 0, 1)));
  // A pass at a coarser grid has it as its level 0.
  MicroBatches const coarse =
      network->forward(context, Grid3::cube(4), {at::randn({1, 1, 4, 4, 4})});
  EXPECT_TRUE(at::equal(coarse[0], at::full({1, 1, 5, 5, 5}, 0.25 * 4 * 2 * 3)));
}

TEST(LevelEquation, GridsAboveTheFinestBlockAreSmoothedAlone) {
  auto const comm = make_self_communicator();
  ForwardContext const context{.comm = *comm, .total_micro_batches = 2, .total_samples = 2};
  auto const network = network_of(marked_frame);
  at::Tensor const x = at::randn({2, 1, 32, 32, 32});
  MicroBatches const u =
      network->forward(context, Grid3::cube(32), {x, at::randn({0, 1, 32, 32, 32})});
  // Levels 4 to 0: smoothing by 7, 6, 5, 4, 3; up by 5, 4, 3, 2.
  EXPECT_TRUE(
      at::equal(u[0], at::full({2, 1, 33, 33, 33}, 0.25 * 7 * 5 * 6 * 4 * 5 * 3 * 4 * 2 * 3)));
  EXPECT_EQ(u[1].sizes(), (at::IntArrayRef{0, 1, 33, 33, 33}));
  // Gradients reach every block.
  torch::autograd::backward(u, {at::randn(u[0].sizes()), at::zeros_like(u[1])});
  auto const levels = network->levels(Grid3::cube(32));
  ASSERT_EQ(levels.size(), 3U);
  for (auto const& level : levels) {
    auto const moves = [](at::Tensor const& p) {
      return p.grad().defined() && p.grad().ne(0).any().item<bool>();
    };
    EXPECT_TRUE(std::any_of(level.parameters.begin(), level.parameters.end(), moves))
        << level.level;
  }
}

TEST(LevelEquation, GradientsGoTheSameWayDown) {
  auto const comm = make_self_communicator();
  ForwardContext const context{*comm};
  FrameCache frames(marked_frame);
  MicroBatches const x{at::randn({2, 1, 8, 8, 8}), at::randn({0, 1, 8, 8, 8})};
  auto const equation = equation_of(context, frames, kGrid, x, 3);
  auto const field = [](std::int64_t samples) {
    return at::randn({samples, 1, 5, 5, 5}, at::kDouble).requires_grad_();
  };
  MicroBatches const start{field(2), field(0)};
  MicroBatches const u = equation->smoothed(kGrid, equation->prolonged(kGrid, start), x);
  at::Tensor const gradient = at::randn(u[0].sizes(), at::kDouble);
  at::Tensor const found = torch::autograd::grad({u[0], u[1]}, {start[0], start[1]},
                                                 {gradient, at::zeros_like(u[1])})[0];
  Marked const maps(2, 8, 3);
  EXPECT_TRUE(at::allclose(found, maps.restricted(0, gradient * 3.0), 1e-12, 1e-12));
}

TEST(LevelEquation, EachGridHasItsOwnWhereNothingIsNested) {
  auto const comm = make_self_communicator();
  ForwardContext const context{*comm};
  auto const network =
      network_of([](Grid3 const& grid, at::Device device) { return default_frame(grid, device); });
  at::NoGradGuard const no_grad;
  MicroBatches const u = network->forward(context, kGrid, {at::randn({2, 1, 8, 8, 8})});
  EXPECT_TRUE(at::allclose(u[0], default_frame(kGrid).lift.expand_as(u[0]), 1e-6, 1e-6));
}

}  // namespace
}  // namespace voxcycle
