// SPDX-License-Identifier: BSD-3-Clause
// The GPU's energy kernel, played on the CPU block by block, against the CPU's kernel.
#include "poisson/operator/energy_blocks.hpp"

#include "voxcycle/poisson/boundary.hpp"
#include "voxcycle/poisson/energy.hpp"

#include <array>
#include <cmath>
#include <memory>

#include "poisson/operator/element_matrix.hpp"
#include "q1_elements.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace energy_blocks_test {

using testing::random_nodes;
using testing::random_voxels;
using testing::relative_difference;
using Order = EmulatedBlock::Order;

// Sums of a few hundred products in float64, and one voxel's 60 operations in float32.
constexpr double rounding = 1e-12;
constexpr double float_rounding = 2e-6;

template <class T>
EnergyAndGradient emulated(at::Tensor const& u, at::Tensor const& nu, Grid3 const& grid,
                           at::Tensor const& b, Order order) {
  int const batch = static_cast<int>(u.size(0));
  EnergyAndGradient result{at::full({batch}, std::nan(""), at::kDouble),
                           at::full_like(u, std::nan(""))};
  EnergyJob<T> job{};
  job.u = u.const_data_ptr<T>();
  job.nu = nu.const_data_ptr<T>();
  job.gradient = result.gradient.mutable_data_ptr<T>();
  job.batch = batch;
  job.nx = static_cast<int>(grid.voxels[0]);
  job.ny = static_cast<int>(grid.voxels[1]);
  job.nz = static_cast<int>(grid.voxels[2]);
  if (b.defined()) {
    job.b = b.const_data_ptr<T>();
    job.load_stride = b.size(0) == 1 ? 0 : grid.node_count();
  }
  job.weights = EnergyWeights<T>(haar_spectrum(grid));
  int const tiles = EnergyTiles(job.nx, job.ny, job.nz).per_sample();
  at::Tensor const partial = at::full({batch, tiles}, std::nan(""), at::kDouble);
  job.partial = partial.mutable_data_ptr<double>();

  EmulatedBlock block(order, EnergyTiles::threads);
  auto const shared = std::make_unique<EnergyShared<T>>();
  for (int i = 0; i < batch * tiles; ++i) energy_block(block, *shared, job, i);
  auto* const energy = result.energy.mutable_data_ptr<double>();
  EmulatedBlock adding(order);
  std::array<double, block_threads> sums{};
  for (int i = 0; i < batch; ++i) {
    sum_row_block(adding, sums.data(), job.partial, tiles, energy, i);
  }
  return result;
}

// Tiles of 15 x 31 nodes that are filled, not quite, and overflow by one, the first and the second;
// the last node plane as its tile's only one (35), second (66), third (12) and last (5 and 6).
class EnergyBlocks : public ::testing::TestWithParam<std::array<std::int64_t, 3>> {};

TEST_P(EnergyBlocks, FollowTheCpuKernel) {
  at::manual_seed(1);
  Grid3 const grid{GetParam(), {1.3, 1.0, 0.8}};
  at::Tensor const u = random_nodes(grid, 2), nu = random_voxels(grid, 2);
  at::Tensor const b = random_nodes(grid, 2);
  for (auto order : {Order::upwards, Order::downwards}) {
    for (at::Tensor const& load : {at::Tensor(), b, b.narrow(0, 1, 1)}) {
      auto const expected = load.defined() ? energy_and_gradient(u, nu, grid, load)
                                           : energy_and_gradient(u, nu, grid);
      auto const [energy, gradient] = emulated<double>(u, nu, grid, load, order);
      EXPECT_LT(relative_difference(gradient, expected.gradient), rounding);
      EXPECT_LT(relative_difference(energy, expected.energy), rounding);
    }
  }
}

TEST_P(EnergyBlocks, SingleFollowsDouble) {
  at::manual_seed(2);
  Grid3 const grid{GetParam(), {1.0, 1.0, 1.0}};
  at::Tensor const u = random_nodes(grid, 1, at::kFloat);
  at::Tensor const nu = random_voxels(grid, 1, at::kFloat);
  auto const single = emulated<float>(u, nu, grid, {}, Order::upwards);
  auto const twice = energy_and_gradient(u.to(at::kDouble), nu.to(at::kDouble), grid);
  EXPECT_LT(relative_difference(single.gradient, twice.gradient), float_rounding);
  EXPECT_LT(relative_difference(single.energy, twice.energy), float_rounding);
}

using Voxels = std::array<std::int64_t, 3>;
INSTANTIATE_TEST_SUITE_P(Grids, EnergyBlocks,
                         ::testing::Values(Voxels{1, 1, 1}, Voxels{2, 2, 2}, Voxels{3, 13, 29},
                                           Voxels{4, 14, 30}, Voxels{5, 15, 31}, Voxels{6, 16, 32},
                                           Voxels{8, 17, 3}, Voxels{9, 28, 33}, Voxels{4, 29, 60},
                                           Voxels{12, 30, 61}, Voxels{5, 31, 62}, Voxels{35, 3, 65},
                                           Voxels{66, 2, 1}, Voxels{140, 1, 2}));

TEST(EnergyBlocksBits, ASampleOfABatchHasTheBitsItHasAlone) {
  at::manual_seed(3);
  Grid3 const grid{{10, 9, 40}, {1.0, 1.0, 1.0}};
  at::Tensor const u = random_nodes(grid, 3), nu = random_voxels(grid, 3);
  auto const batch = emulated<double>(u, nu, grid, {}, Order::upwards);
  for (int i = 0; i < 3; ++i) {
    auto const alone =
        emulated<double>(u.narrow(0, i, 1), nu.narrow(0, i, 1), grid, {}, Order::upwards);
    EXPECT_TRUE(at::equal(batch.energy.narrow(0, i, 1), alone.energy));
    EXPECT_TRUE(at::equal(batch.gradient.narrow(0, i, 1), alone.gradient));
  }
}

TEST(EnergyTiles, CoverLargeGridsWithoutCuttingSmallOnesToPieces) {
  EnergyTiles const large(512, 512, 512), small(16, 16, 16);
  EXPECT_EQ(large.thickness, 33);
  EXPECT_EQ(large.per_sample(), 16 * 35 * 17);
  EXPECT_EQ(small.per_sample(), 4 * 2 * 1);
  for (int n = 1; n < 600; ++n) {
    EnergyTiles const tiles(n, n, n);
    EXPECT_GE(tiles.along_x * tiles.thickness, n + 1);
    EXPECT_LT((tiles.along_x - 1) * tiles.thickness, n + 1);
    EXPECT_GE(tiles.along_y * 15, n + 1);
    EXPECT_GE(tiles.along_z * 31, n + 1);
  }
}

}  // namespace energy_blocks_test
}  // namespace voxcycle
