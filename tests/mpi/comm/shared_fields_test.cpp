// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/shared_fields.hpp"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace shared_fields_test {

Grid3 const kGrid{{66, 3, 4}, {1.0, 1.0, 1.0}};

/// A number of its own at each place, some of which sums would change.
at::Tensor counted(std::int64_t nx, std::int64_t ny, std::int64_t nz, std::int64_t components) {
  at::Tensor values = at::arange(nx * ny * nz * components, at::kDouble).add_(0.25);
  values.narrow(0, 5, 1).fill_(-0.0);
  values.narrow(0, 70, 1).fill_(std::numeric_limits<double>::quiet_NaN());
  values.narrow(0, values.numel() - 1, 1).fill_(std::numeric_limits<double>::infinity());
  at::Tensor const field = values.view({nx, ny, nz, components});
  return components == 1 ? field.squeeze(3) : field;
}

at::Tensor on_part(at::Tensor const& whole, Slab const& slab, std::int64_t extra) {
  return whole.narrow(0, slab.first(), slab.behind() - slab.first() + extra).contiguous();
}

bool same_bits(at::Tensor const& a, at::Tensor const& b) {
  return a.contiguous().view(at::kLong).equal(b.contiguous().view(at::kLong));
}

TEST(SharedFields, TheFirstProcessReadsAnyBox) {
  auto const owner = make_mpi_communicator();
  Communicator const& comm = *owner;
  Space const space = part_of_processes(comm, kGrid);
  at::Tensor const u = counted(67, 4, 5, 1), flux = counted(66, 3, 4, 3);
  SharedFields const fields(space, {on_part(u, space.slab(), 1), on_part(flux, space.slab(), 0)});
  int checked = 0;
  fields.serve([&] {
    for (std::int64_t const begin : {0, 20, 33, 65}) {
      Box const box{{begin, 1, 0}, {std::min<std::int64_t>(40, 67 - begin), 2, 5}};
      at::Tensor const expected = u.narrow(0, begin, box.count[0]).narrow(1, 1, 2);
      EXPECT_TRUE(same_bits(fields.read(0, box), expected)) << begin;
      ++checked;
    }
    EXPECT_TRUE(same_bits(fields.read(0, {{0, 0, 0}, {67, 4, 5}}), u));
    EXPECT_TRUE(same_bits(fields.read(1, {{0, 0, 2}, {66, 3, 1}}), flux.narrow(2, 2, 1)));
  });
  EXPECT_EQ(checked, comm.rank() == 0 ? 4 : 0);
}

TEST(SharedFields, AnErrorOfTheFirstEndsAll) {
  auto const owner = make_mpi_communicator();
  Communicator const& comm = *owner;
  Space const space = part_of_processes(comm, kGrid);
  SharedFields const fields(space, {at::zeros(space.slab().part().voxels, at::kDouble)});
  EXPECT_THROW(fields.serve([&] {
    fields.read(0, {{0, 0, 0}, {1, 1, 1}});
    throw Error("no space left.");
  }),
               Error);
}

}  // namespace shared_fields_test
}  // namespace voxcycle
