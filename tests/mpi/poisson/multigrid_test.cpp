// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/multigrid.hpp"

#include "voxcycle/core/error.hpp"

#include <cmath>

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class SharedMultigrid : public ::testing::Test {
 protected:
  Space shared(Grid3 const& grid) const {
    return {comm_.get(), slab_of(grid, comm_->size(), comm_->rank())};
  }
  /// Cycles of the whole grid and of its parts. @return bodies that both deflate
  std::int64_t expect_alike(Grid3 const& grid, Boundary const& boundary, at::Tensor const& nu,
                            MultigridOptions const& options, double tolerance) const {
    at::Generator const random = at::detail::createCPUGenerator(1);
    at::Tensor const r = at::randn(grid.node_shape(), random, at::kDouble);
    Multigrid const whole(grid, boundary, nu, options);
    Space const all(grid), space = shared(grid);
    Multigrid const parts(space, boundary, all.voxels_within(space, nu), options);
    EXPECT_EQ(parts.levels(), whole.levels());
    EXPECT_EQ(parts.bodies(), whole.bodies());
    for (bool const full : {false, true}) {
      at::Tensor const b = all.nodes_within(space, r);
      at::Tensor const expected =
          all.nodes_within(space, full ? whole.full_cycle(r) : whole.cycle(r));
      at::Tensor const found = full ? parts.full_cycle(b) : parts.cycle(b);
      double const off = space.own_nodes(found - expected).abs().max().item<double>() /
                         expected.abs().max().item<double>();
      EXPECT_LT(off, tolerance) << grid.name() << (full ? " full" : "");
    }
    return whole.bodies();
  }

  std::unique_ptr<Communicator> comm_ = make_mpi_communicator();
};

constexpr Face kFlux{};

TEST_F(SharedMultigrid, CyclesAreThoseOfOneProcess) {
  Boundary const mixed{
      {Face{FaceKind::dirichlet, 1.0}, kFlux, kFlux, Face{FaceKind::dirichlet, 0.0}, kFlux, kFlux}};
  for (auto const coarse : {CoarseOperator::average, CoarseOperator::black_box}) {
    for (auto const& boundary : {Boundary{}, mixed}) {
      for (Grid3 const& grid : {Grid3{{128, 12, 8}, {4.0, 1.0, 1.0}},
                                Grid3{{50, 11, 40}, {1, 1, 1}}, Grid3{{97, 8, 8}, {2, 1, 1}}}) {
        at::Generator const random = at::detail::createCPUGenerator(2);
        at::Tensor const nu = at::exp(at::randn(grid.voxel_shape(), random, at::kDouble) * 1.5);
        expect_alike(grid, boundary, nu, {.coarse = coarse}, 1e-12);
      }
    }
  }
}

TEST_F(SharedMultigrid, BodiesAreDeflatedAsInOneProcess) {
  Grid3 const grid{{64, 20, 24}, {2.0, 1.0, 1.0}};
  at::Generator const random = at::detail::createCPUGenerator(2);
  at::Tensor const nu = at::rand(grid.voxel_shape(), random, at::kDouble) + 0.5;
  // In several slabs, in one, at a face that holds it; and bars that wind through all slabs.
  auto const fill = [&](std::array<std::int64_t, 3> begin, std::array<std::int64_t, 3> count) {
    nu[0][0]
        .narrow(0, begin[0], count[0])
        .narrow(1, begin[1], count[1])
        .narrow(2, begin[2], count[2])
        .fill_(1e6);
  };
  fill({10, 3, 3}, {40, 3, 3});
  fill({30, 10, 10}, {4, 4, 4});
  fill({60, 12, 12}, {4, 4, 4});
  fill({5, 16, 16}, {50, 1, 1});
  fill({54, 16, 3}, {1, 1, 14});
  fill({5, 16, 3}, {50, 1, 1});
  Boundary const boundary = parse_boundary("1, 0, flux, flux, flux, flux");
  MultigridOptions const options{.coarse = CoarseOperator::black_box, .deflate_bodies = true};
  EXPECT_EQ(expect_alike(grid, boundary, nu, options, 1e-9), 3);
}

TEST_F(SharedMultigrid, RefusesWhatPartsCannotDo) {
  if (comm_->size() == 1) GTEST_SKIP() << "one process has no parts";
  Grid3 const grid{{64, 4, 4}, {1.0, 1.0, 1.0}};
  Space const space = shared(grid);
  at::Tensor const nu = at::ones(space.slab().part().voxel_shape(), at::kDouble);
  EXPECT_THAT([&] { Multigrid(space, {}, nu, {.smoothing_steps = 3}); },
              ThrowsMessage<Error>(HasSubstr("too narrow for 3 smoothing steps")));
}

}  // namespace
}  // namespace voxcycle
