// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/energy.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/boundary.hpp"

#include <cmath>

#include "../core/variants.hpp"
#include "poisson/operator/energy_rows.hpp"
#include "q1_elements.hpp"
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace energy_test {

using testing::dense_stiffness;
using testing::kl_sample;
using testing::naive_stiffness;
using testing::Q1Element;
using testing::random_nodes;
using testing::random_voxels;
using testing::relative_difference;

// Sums of a few hundred products in float64.
constexpr double rounding = 1e-12;
// One voxel's 60 operations in float32 (unit roundoff 6e-8).
constexpr double float_rounding = 2e-6;
// Energies of one field that other code found are known to eleven digits.
constexpr double printed = 1e-8;

Grid3 const uneven{{3, 4, 5}, {1.0, 0.7, 1.9}};

TEST(Energy, EqualsDenseAssembly) {
  at::manual_seed(1);
  at::Tensor const u = random_nodes(uneven, 1), nu = random_voxels(uneven, 1);
  at::Tensor const b = random_nodes(uneven, 1);
  auto const [energy, gradient] = energy_and_gradient(u, nu, uneven, b);

  at::Tensor const flat = u.flatten(), load = b.flatten();
  at::Tensor const k_u = dense_stiffness(nu, uneven).mv(flat);
  double const expected = 0.5 * flat.dot(k_u).item<double>() - load.dot(flat).item<double>();
  EXPECT_LT(relative_difference(gradient.flatten(), k_u - load), rounding);
  EXPECT_NEAR(energy.item<double>(), expected, rounding * std::abs(expected));
  EXPECT_EQ(energy.scalar_type(), at::kDouble);
}

// Row lengths around the vector width, grids with one slab, several, and a thinner last one.
class EnergyOnGrid : public ::testing::TestWithParam<std::array<std::int64_t, 3>> {};

TEST_P(EnergyOnGrid, EqualsVoxelByVoxel) {
  at::manual_seed(2);
  Grid3 const grid{GetParam(), {1.3, 1.0, 0.8}};
  at::Tensor const u = random_nodes(grid, 1), nu = random_voxels(grid, 1);
  auto const [energy, gradient] = energy_and_gradient(u, nu, grid);
  at::Tensor const k_u = naive_stiffness(u, nu, grid);
  double const expected = 0.5 * (u * k_u).sum().item<double>();
  EXPECT_LT(relative_difference(gradient, k_u), rounding);
  EXPECT_NEAR(energy.item<double>(), expected, rounding * expected);
}

INSTANTIATE_TEST_SUITE_P(Grids, EnergyOnGrid,
                         ::testing::Values(std::array<std::int64_t, 3>{1, 1, 1},
                                           std::array<std::int64_t, 3>{2, 1, 3},
                                           std::array<std::int64_t, 3>{1, 7, 15},
                                           std::array<std::int64_t, 3>{16, 3, 16},
                                           std::array<std::int64_t, 3>{33, 4, 17},
                                           std::array<std::int64_t, 3>{50, 5, 47},
                                           std::array<std::int64_t, 3>{135, 2, 33}));

TEST(Energy, FloatFollowsDouble) {
  at::manual_seed(3);
  Grid3 const grid{{20, 6, 35}, {1.0, 1.0, 1.0}};
  at::Tensor const u = random_nodes(grid, 1, at::kFloat);
  at::Tensor const nu = random_voxels(grid, 1, at::kFloat);
  auto const single = energy_and_gradient(u, nu, grid);
  auto const twice = energy_and_gradient(u.to(at::kDouble), nu.to(at::kDouble), grid);
  EXPECT_EQ(single.gradient.scalar_type(), at::kFloat);
  EXPECT_LT(relative_difference(single.gradient, twice.gradient), float_rounding);
  EXPECT_LT(relative_difference(single.energy, twice.energy), float_rounding);
}

TEST(Energy, SameBitsForAnyNumberOfThreads) {
  at::manual_seed(4);
  Grid3 const grid{{40, 40, 41}, {1.0, 1.0, 1.0}};
  int const threads = at::get_num_threads();
  for (auto dtype : {at::kFloat, at::kDouble}) {
    at::Tensor const u = random_nodes(grid, 3, dtype), nu = random_voxels(grid, 3, dtype);
    at::Tensor const b = random_nodes(grid, 1, dtype);
    at::set_num_threads(1);
    auto const alone = energy_and_gradient(u, nu, grid, b);
    for (int many : {2, 3, 5}) {
      at::set_num_threads(many);
      auto const shared = energy_and_gradient(u, nu, grid, b);
      EXPECT_TRUE(at::equal(alone.energy, shared.energy)) << many << " threads";
      EXPECT_TRUE(at::equal(alone.gradient, shared.gradient)) << many << " threads";
    }
  }
  at::set_num_threads(threads);
}

TEST(Energy, SampleOfBatchHasTheBitsItHasAlone) {
  at::manual_seed(5);
  Grid3 const grid{{18, 9, 20}, {1.0, 1.0, 1.0}};
  at::Tensor const u = random_nodes(grid, 3), nu = random_voxels(grid, 3);
  at::Tensor const b = random_nodes(grid, 3);
  auto const batch = energy_and_gradient(u, nu, grid, b);
  for (int i = 0; i < 3; ++i) {
    auto const alone =
        energy_and_gradient(u.narrow(0, i, 1), nu.narrow(0, i, 1), grid, b.narrow(0, i, 1));
    EXPECT_TRUE(at::equal(batch.energy.narrow(0, i, 1), alone.energy));
    EXPECT_TRUE(at::equal(batch.gradient.narrow(0, i, 1), alone.gradient));
  }
}

template <class T>
void expect_same_bits_for_all_variants(at::ScalarType dtype) {
  Grid3 const grid{{3, 5, 37}, {1.0, 1.0, 1.0}};
  at::Tensor const u = random_nodes(grid, 1, dtype), nu = random_voxels(grid, 1, dtype);
  HaarSpectrum spectrum{};
  for (int i = 1; i < 8; ++i) {
    spectrum.lambda[i] = 0.1 * i;
  }
  at::Tensor scratch = at::empty({energy_scratch_size(grid.voxels[2])}, dtype);
  at::Tensor first_gradient;
  std::vector<double> energies(grid.voxels[0]), first_energies;
  for (auto const& [name, table] : testing::variants(
           energy_rows::baseline::table, energy_rows::avx2::table, energy_rows::avx512::table)) {
    at::Tensor gradient = at::empty_like(u);
    table.sweep(SlabJob<T>{u.const_data_ptr<T>(), nu.const_data_ptr<T>(),
                           gradient.mutable_data_ptr<T>(), grid.voxels[0], grid.voxels[1],
                           grid.voxels[2], false, false, spectrum, scratch.mutable_data_ptr<T>(),
                           energies.data()});
    if (!first_gradient.defined()) {
      first_gradient = gradient;
      first_energies = energies;
    }
    EXPECT_EQ(energies, first_energies) << name;
    EXPECT_TRUE(at::equal(gradient, first_gradient)) << name;
  }
}

TEST(Energy, SameBitsForAllInstructionSets) {
  at::manual_seed(6);
  expect_same_bits_for_all_variants<float>(at::kFloat);
  expect_same_bits_for_all_variants<double>(at::kDouble);
}

TEST(Energy, ConstantFieldHasNone) {
  Grid3 const grid = Grid3::cube(9);
  at::Tensor const nu = random_voxels(grid, 1);
  auto const [energy, gradient] =
      energy_and_gradient(at::full({1, 1, 10, 10, 10}, 0.7, at::kDouble), nu, grid);
  EXPECT_EQ(energy.item<double>(), 0.0);
  EXPECT_EQ(gradient.abs().max().item<double>(), 0.0);
}

TEST(Energy, OfTheLiftOnTheBenchmark) {
  double const expected[2] = {1.7496922732, 1.7489095172};
  for (int i = 0; i < 2; ++i) {
    Grid3 const grid = Grid3::cube(32 << i);
    auto const result =
        energy_and_gradient(lift(grid, Boundary{}, at::kDouble), kl_sample(32 << i), grid);
    EXPECT_NEAR(2.0 * result.energy.item<double>(), expected[i], printed * expected[i]);
  }
}

TEST(Stiffness, ApplyIsGradientWithoutLoad) {
  at::Tensor const u = random_nodes(uneven, 2), nu = random_voxels(uneven, 2);
  EXPECT_TRUE(
      at::equal(apply_stiffness(u, nu, uneven), energy_and_gradient(u, nu, uneven).gradient));
}

TEST(Stiffness, DiagonalEqualsDenseAssembly) {
  at::Tensor const nu = random_voxels(uneven, 2);
  at::Tensor const diagonal = stiffness_diagonal(nu, uneven);
  for (int i = 0; i < 2; ++i) {
    at::Tensor const expected = dense_stiffness(nu.narrow(0, i, 1).contiguous(), uneven).diagonal();
    EXPECT_LT(relative_difference(diagonal[i].flatten(), expected), rounding);
  }
}

TEST(Load, EqualsIntegralsOfShapeFunctions) {
  at::Tensor const f = random_voxels(uneven, 1);
  at::Tensor const load = load_of_source(f, uneven);
  Q1Element const element(uneven);
  at::Tensor expected = at::zeros({uneven.node_count()}, at::kDouble);
  auto const* const values = f.const_data_ptr<double>();
  testing::for_each_voxel(uneven,
                          [&](std::int64_t voxel, std::array<std::int64_t, 8> const& nodes) {
                            for (int i = 0; i < 8; ++i) {
                              expected[nodes[i]] += values[voxel] * element.load[i];
                            }
                          });
  EXPECT_LT(relative_difference(load.flatten(), expected), rounding);
  EXPECT_EQ(load_of_source(f.to(at::kFloat), uneven).scalar_type(), at::kFloat);
}

TEST(Load, OfOneNumberIsThatOfAConstantField) {
  at::Tensor const load = load_of_source(-2.5, uneven);
  EXPECT_EQ(load.sizes(), at::IntArrayRef({1, 1, 4, 5, 6}));
  EXPECT_EQ(load.scalar_type(), at::kDouble);
  EXPECT_TRUE(
      at::equal(load, load_of_source(at::full({1, 1, 3, 4, 5}, -2.5, at::kDouble), uneven)));
  // Shape functions sum to one, and a corner has an eighth of one voxel.
  double const box = 1.0 * 0.7 * 1.9;
  EXPECT_NEAR(load.sum().item<double>(), -2.5 * box, rounding);
  EXPECT_NEAR(load[0][0][0][4][5].item<double>(), -2.5 * box / 60 / 8, rounding);
  EXPECT_THROW(load_of_source(1.0, Grid3{{0, 1, 1}, {1.0, 1.0, 1.0}}), Error);
}

TEST(Energy, RefusesFieldsThatDoNotFit) {
  at::Tensor const u = random_nodes(uneven, 2), nu = random_voxels(uneven, 2);
  EXPECT_THROW(energy_and_gradient(u, nu.narrow(0, 0, 1), uneven), Error);
  EXPECT_THROW(energy_and_gradient(nu, nu, uneven), Error);
  EXPECT_THROW(energy_and_gradient(u, nu.to(at::kFloat), uneven), Error);
  EXPECT_THROW(energy_and_gradient(u.to(at::kHalf), nu.to(at::kHalf), uneven), Error);
  EXPECT_THROW(energy_and_gradient(u, nu, Grid3::cube(4)), Error);
  EXPECT_THROW(energy_and_gradient(u, nu, uneven, nu), Error);
  EXPECT_THROW(energy_and_gradient(u.transpose(2, 4).contiguous().transpose(2, 4), nu, uneven),
               Error);
  EXPECT_THROW(energy_and_gradient(at::Tensor(), nu, uneven), Error);
  EXPECT_THROW(stiffness_diagonal(u, uneven), Error);
}

}  // namespace energy_test
}  // namespace voxcycle
