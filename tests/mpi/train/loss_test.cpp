// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/loss.hpp"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace loss_test {

// Halved down to a small one: sanitizers take long for large dense matrices.
Grid3 const kGrid{{40, 8, 8}, {2.0, 0.6, 0.5}};

TEST(SharedLoss, ValuesAndGradientsHaveTheBitsOfOneProcess) {
  auto const comm = make_mpi_communicator();
  Space const all(kGrid), space(comm.get(), slab_of(kGrid, comm->size(), comm->rank()));
  at::Generator const random = at::detail::createCPUGenerator(1);
  for (auto const& [boundary, source] :
       {std::pair{Boundary{}, Source{}}, std::pair{Boundary{}, Source{.value = 5.0}},
        std::pair{parse_boundary("flux, 2, 0, flux, flux, 0.5"),
                  Source{.kind = SourceKind::sampled}}}) {
    for (auto const type : {at::kDouble, at::kFloat}) {
      auto const noise = [&](std::array<std::int64_t, 5> const& shape) {
        return at::randn(shape, random, at::kDouble).to(type);
      };
      at::Tensor const u = noise(kGrid.node_shape(2)), u_ref = noise(kGrid.node_shape(2));
      at::Tensor const nu = noise(kGrid.voxel_shape(2)).exp_();
      at::Tensor const f = source.varies() ? noise(kGrid.voxel_shape(2)) : at::Tensor();
      at::Tensor const f_part = source.varies() ? all.voxels_within(space, f) : f;
      for (auto const& name : loss_names()) {
        auto const expected = make_loss(name, {all, boundary, source})->evaluate({u, nu, f, u_ref});
        auto const found = make_loss(name, {space, boundary, source})
                               ->evaluate({all.nodes_within(space, u), all.voxels_within(space, nu),
                                           f_part, all.nodes_within(space, u_ref)});
        EXPECT_TRUE(at::equal(found.values, expected.values)) << name;
        EXPECT_TRUE(at::equal(found.gradient, all.nodes_within(space, expected.gradient)))
            << name << ' ' << to_string(source);
      }
    }
  }
}

}  // namespace loss_test
}  // namespace voxcycle
