// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/halo.hpp"

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
      at::Tensor const slab = mine(field).contiguous(layout);
      at::Tensor const found = with_halo(comm_.get(), slab);
      EXPECT_TRUE(at::equal(found, mine(padded, kPlanes + 2))) << at::toString(type);
      EXPECT_TRUE(found.is_contiguous(layout));
    }
  }
}

TEST_F(Halo, AddingHalosIsTheTranspose) {
  at::Tensor const x = mine(whole(0)).contiguous();
  at::manual_seed(comm_->rank());
  at::Tensor const y = at::randn({2, 3, kPlanes + 2, 5, 6}, at::kDouble);
  double const forward = product(with_halo(comm_.get(), x), y);
  EXPECT_NEAR(forward, product(x, halo_added(comm_.get(), y)), 1e-12 * std::abs(forward));
}

TEST_F(Halo, NoSampleIsNoExchange) {
  at::Tensor const none = at::empty({0, 3, kPlanes, 5, 6});
  // One rank after the other: an exchange would wait for those in the barrier.
  for (int rank = 0; rank < comm_->size(); ++rank) {
    if (rank == comm_->rank()) {
      EXPECT_EQ(with_halo(comm_.get(), none).size(2), kPlanes + 2);
      EXPECT_EQ(halo_added(comm_.get(), none).size(2), kPlanes - 2);
    }
    comm_->barrier();
  }
}

}  // namespace halo_test
}  // namespace voxcycle
