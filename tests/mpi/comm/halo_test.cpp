// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/halo.hpp"

#include "voxcycle/core/error.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace halo_test {

constexpr std::int64_t kPlanes = 4;  // of a slab
constexpr auto kChannelsLast = at::MemoryFormat::ChannelsLast3d;

class Halo : public ::testing::Test {
 protected:
  /// The same on all ranks.
  at::Tensor whole(std::int64_t extra_planes, at::ScalarType type = at::kDouble) const {
    at::manual_seed(7);
    return at::randn({2, 3, comm_->size() * kPlanes + extra_planes, 5, 6}).to(type);
  }
  at::Tensor mine(at::Tensor const& field, std::int64_t planes = kPlanes) const {
    return field.narrow(2, comm_->rank() * kPlanes, planes);
  }
  /// Of fields that the ranks share out, over all of them.
  double product(at::Tensor const& a, at::Tensor const& b) const {
    at::Tensor sum = (a * b).sum().view({1});
    comm_->all_reduce(sum, ReduceOperation::sum);
    return sum.item<double>();
  }

  std::unique_ptr<Communicator> comm_ = make_mpi_communicator();
};

TEST_F(Halo, SlabsGetTheirNeighboursPlanes) {
  for (auto type : {at::kBFloat16, at::kFloat, at::kDouble}) {
    for (auto layout : {at::MemoryFormat::Contiguous, kChannelsLast}) {
      at::Tensor const field = whole(0, type);
      at::Tensor const padded = at::constant_pad_nd(field, {0, 0, 0, 0, 1, 1});
      at::Tensor const slab = own_planes(*comm_, field.contiguous(layout));
      EXPECT_TRUE(at::equal(slab, mine(field)));
      at::Tensor const found = with_halo(*comm_, slab);
      EXPECT_TRUE(at::equal(found, mine(padded, kPlanes + 2))) << at::toString(type);
      EXPECT_TRUE(found.is_contiguous(layout));
      EXPECT_TRUE(at::equal(gathered_planes(*comm_, slab), field));
    }
  }
}

TEST_F(Halo, AddingHalosIsTheTranspose) {
  at::Tensor const x = mine(whole(0)).contiguous();
  at::manual_seed(comm_->rank());
  at::Tensor const y = at::randn({2, 3, kPlanes + 2, 5, 6}, at::kDouble);
  double const forward = product(with_halo(*comm_, x), y);
  EXPECT_NEAR(forward, product(x, halo_added(*comm_, y)), 1e-12 * std::abs(forward));
}

TEST_F(Halo, NodesBetweenTwoSlabsCountOnce) {
  at::Tensor const field = whole(1);
  at::Tensor slab = mine(field, kPlanes + 1).clone();
  bool const last = comm_->rank() == comm_->size() - 1;
  if (!last) slab.select(2, kPlanes).fill_(9.0);  // the next slab knows better
  EXPECT_TRUE(at::equal(gathered_nodes(*comm_, slab), field));
  at::Tensor const own = own_nodes(*comm_, field);
  EXPECT_TRUE(at::equal(own.narrow(2, 0, kPlanes), mine(field)));
  EXPECT_TRUE(at::equal(own.select(2, kPlanes), last ? field.select(2, field.size(2) - 1)
                                                     : at::zeros({2, 3, 5, 6}, at::kDouble)));
}

TEST_F(Halo, NoSampleIsNoExchange) {
  at::Tensor const none = at::empty({0, 3, kPlanes, 5, 6});
  // One rank after the other: an exchange would wait for those in the barrier.
  for (int rank = 0; rank < comm_->size(); ++rank) {
    if (rank == comm_->rank()) {
      EXPECT_EQ(with_halo(*comm_, none).size(2), kPlanes + 2);
      EXPECT_EQ(halo_added(*comm_, none).size(2), kPlanes - 2);
      EXPECT_EQ(gathered_planes(*comm_, none).size(2), comm_->size() * kPlanes);
      EXPECT_EQ(gathered_nodes(*comm_, none).size(2), comm_->size() * (kPlanes - 1) + 1);
    }
    comm_->barrier();
  }
}

TEST_F(Halo, RefusesPlanesThatCannotBeSharedOut) {
  if (comm_->size() == 1) GTEST_SKIP() << "one process takes any number of planes";
  EXPECT_THROW(own_planes(*comm_, at::zeros({1, 1, comm_->size() * 2 + 1, 2, 2})), Error);
}

}  // namespace halo_test
}  // namespace voxcycle
