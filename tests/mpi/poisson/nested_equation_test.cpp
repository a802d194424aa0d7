// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/nested_equation.hpp"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

/// 48, 24 and 12 planes along x, the first two or all but the last of them shared out.
Grid3 const kGrid{{48, 16, 16}, {3.0, 1.0, 0.9}};
Boundary const kMixed = parse_boundary("2, flux, -1, flux, flux, 0.5");

TEST(SharedNestedEquation, EveryMapHasTheBitsOfOneProcess) {
  auto const comm = make_mpi_communicator();
  Space const all(kGrid), space(comm.get(), slab_of(kGrid, comm->size(), comm->rank(), {4, 8}));
  at::Generator const random = at::detail::createCPUGenerator(1);
  for (auto const type : {at::kDouble, at::kFloat}) {
    auto const noise = [&](std::array<std::int64_t, 5> const& shape) {
      return at::randn(shape, random, at::kDouble).to(type);
    };
    at::Tensor const nu = noise(kGrid.voxel_shape(2)).mul_(1.5).exp_();
    at::Tensor const b = noise(kGrid.node_shape(2));
    NestedEquation::Options const options{.levels = 4, .above = 8};
    NestedEquation const whole(all, kMixed, nu, b, options);
    NestedEquation const parts(space, kMixed, all.voxels_within(space, nu),
                               all.nodes_within(space, b), options);
    EXPECT_TRUE(at::equal(parts.coarsest(), whole.coarsest()));
    for (int level = 0; level < 3; ++level) {
      Space const &of_whole = whole.space(level), &here = parts.space(level);
      Space const &below = parts.space(level + 1), &of_whole_below = whole.space(level + 1);
      Grid3 const& grid = here.slab().whole;
      EXPECT_EQ(here.is_whole(), comm->size() == 1 || level > (comm->size() < 3 ? 2 : 1)) << level;
      at::Tensor const u = noise(grid.node_shape(2)),
                       coarse = noise(grid.coarsened().node_shape(2));
      at::Tensor const v = u * free_node_mask(grid, kMixed, u.options());
      at::Tensor const u_part = of_whole.nodes_within(here, u);
      at::Tensor const v_part = of_whole.nodes_within(here, v);
      auto const expect = [&](char const* what, at::Tensor const& found,
                              at::Tensor const& expected) {
        EXPECT_TRUE(at::equal(found, of_whole.nodes_within(here, expected)))
            << what << ' ' << level;
      };
      expect("prolonged", parts.prolonged(level, of_whole_below.nodes_within(below, coarse)),
             whole.prolonged(level, coarse));
      expect("smooth", parts.smooth(level, u_part), whole.smooth(level, u));
      expect("smooth_change", parts.smooth_change(level, v_part), whole.smooth_change(level, v));
      expect("residual", parts.residual(level, u_part), whole.residual(level, u));
      expect("product", parts.product(level, v_part), whole.product(level, v));
      expect("transposed", parts.transposed(level, v_part), whole.transposed(level, v));
      EXPECT_TRUE(at::equal(parts.restricted(level, v_part),
                            of_whole_below.nodes_within(below, whole.restricted(level, v))))
          << level;
    }
  }
}

}  // namespace
}  // namespace voxcycle
