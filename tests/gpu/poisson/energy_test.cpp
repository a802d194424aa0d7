// SPDX-License-Identifier: BSD-3-Clause
// The kernels of poisson on a GPU against those of the CPU, which unit tests hold to the
// mathematics.
#include "voxcycle/poisson/energy.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

// Of J and K u, relative to the largest value: some hundred operations in float32.
constexpr double agreement = 1e-6;
constexpr double agreement_double = 1e-12;

double difference(at::Tensor const& on_gpu, at::Tensor const& expected) {
  at::Tensor const a = on_gpu.cpu().to(at::kDouble), b = expected.to(at::kDouble);
  return ((a - b).abs().max() / b.abs().max()).item<double>();
}

class EnergyOnGpu : public ::testing::TestWithParam<std::array<std::int64_t, 3>> {};

TEST_P(EnergyOnGpu, EqualsTheCpu) {
  at::manual_seed(1);
  Grid3 const grid{GetParam(), {1.3, 1.0, 0.8}};
  auto const [nx, ny, nz] = grid.voxels;
  for (auto dtype : {at::kFloat, at::kDouble}) {
    at::Tensor const u = at::randn({3, 1, nx + 1, ny + 1, nz + 1}, dtype);
    at::Tensor const nu = at::rand({3, 1, nx, ny, nz}, dtype) + 0.1;
    at::Tensor const b = at::randn({1, 1, nx + 1, ny + 1, nz + 1}, dtype);
    // The CPU's float64, so that float32 on the GPU has its own rounding alone.
    auto const expected =
        energy_and_gradient(u.to(at::kDouble), nu.to(at::kDouble), grid, b.to(at::kDouble));
    double const allowed = dtype == at::kFloat ? agreement : agreement_double;
    at::Tensor const u_gpu = u.cuda(), nu_gpu = nu.cuda();
    auto const [energy, gradient] = energy_and_gradient(u_gpu, nu_gpu, grid, b.cuda());
    EXPECT_TRUE(gradient.is_cuda());
    EXPECT_TRUE(energy.is_cuda());
    EXPECT_LT(difference(gradient, expected.gradient), allowed) << dtype;
    EXPECT_LT(difference(energy, expected.energy), allowed) << dtype;
    EXPECT_LT(difference(apply_stiffness(u_gpu, nu_gpu, grid), apply_stiffness(u, nu, grid)),
              2.0 * allowed);
    EXPECT_TRUE(at::equal(stiffness_diagonal(nu_gpu, grid).cpu(), stiffness_diagonal(nu, grid)));
  }
}

INSTANTIATE_TEST_SUITE_P(Grids, EnergyOnGpu,
                         ::testing::Values(std::array<std::int64_t, 3>{1, 1, 1},
                                           std::array<std::int64_t, 3>{4, 7, 31},
                                           std::array<std::int64_t, 3>{35, 15, 65},
                                           std::array<std::int64_t, 3>{64, 64, 64},
                                           std::array<std::int64_t, 3>{128, 128, 128}));

TEST(EnergyOnGpuBits, AreTheSameOnEveryRunAndInEveryBatch) {
  at::manual_seed(2);
  Grid3 const grid = Grid3::cube(48);
  at::Tensor const u = at::randn({4, 1, 49, 49, 49}, at::kFloat).cuda();
  at::Tensor const nu = (at::rand({4, 1, 48, 48, 48}, at::kFloat) + 0.1).cuda();
  auto const first = energy_and_gradient(u, nu, grid);
  for (int repeat = 0; repeat < 5; ++repeat) {
    auto const again = energy_and_gradient(u, nu, grid);
    EXPECT_TRUE(at::equal(again.energy, first.energy));
    EXPECT_TRUE(at::equal(again.gradient, first.gradient));
  }
  auto const alone = energy_and_gradient(u.narrow(0, 2, 1), nu.narrow(0, 2, 1), grid);
  EXPECT_TRUE(at::equal(alone.energy, first.energy.narrow(0, 2, 1)));
  EXPECT_TRUE(at::equal(alone.gradient, first.gradient.narrow(0, 2, 1)));
}

TEST(EnergyOnGpuInput, FieldsOnTwoDevicesAreRefused) {
  Grid3 const grid = Grid3::cube(4);
  at::Tensor const u = at::zeros({1, 1, 5, 5, 5}).cuda(), nu = at::ones({1, 1, 4, 4, 4});
  EXPECT_ANY_THROW(energy_and_gradient(u, nu, grid));
  EXPECT_ANY_THROW(apply_stiffness(u.cpu(), nu.cuda(), grid));
}

}  // namespace
}  // namespace voxcycle
