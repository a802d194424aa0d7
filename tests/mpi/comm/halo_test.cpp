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

/// One sample whose planes lie densely in a larger field.
TEST_F(Halo, FieldsWithRoomAreNotCopied) {
  at::Tensor const field = whole(0, at::kBFloat16).narrow(0, 0, 1);
  at::Tensor const padded = at::constant_pad_nd(field, {0, 0, 0, 0, 1, 1});
  at::Tensor const like = mine(field).contiguous(kChannelsLast);
  at::Tensor const slab = empty_with_room(like);
  ASSERT_TRUE(slab.sizes() == like.sizes() && slab.is_contiguous(kChannelsLast));
  slab.copy_(like);
  at::Tensor const found = with_halo(comm_.get(), slab);
  EXPECT_TRUE(at::equal(found, mine(padded, kPlanes + 2)));
  EXPECT_EQ(found.select(2, 1).const_data_ptr(), slab.const_data_ptr());
  EXPECT_TRUE(found.is_contiguous(kChannelsLast));
  EXPECT_TRUE(at::equal(with_halo(comm_.get(), slab), found)) << "again";
  at::Tensor const part = slab.narrow(2, 1, kPlanes - 1);
  EXPECT_NE(with_halo(comm_.get(), part).select(2, 1).const_data_ptr(), part.const_data_ptr())
      << "around which there is no room";
}

TEST_F(Halo, OnlyDensePlanesHaveRoom) {
  for (auto const& like :
       {whole(0).contiguous(kChannelsLast), whole(0).narrow(0, 0, 1).contiguous(),
        at::empty({0, 3, kPlanes, 5, 6})}) {
    at::Tensor const field = empty_with_room(like);
    EXPECT_TRUE(field.sizes() == like.sizes() && field.strides() == like.strides());
    EXPECT_EQ(field.storage().nbytes(), like.numel() * like.element_size());
  }
}

TEST_F(Halo, AGradientIsOverwrittenWhereNobodySeesIt) {
  at::manual_seed(comm_->rank());
  at::Tensor gradient = at::randn({1, 3, kPlanes + 2, 5, 6}).contiguous(kChannelsLast);
  at::Tensor const before = gradient.clone();
  at::Tensor other = gradient;
  at::Tensor const expected = halo_added(comm_.get(), gradient);
  EXPECT_TRUE(at::equal(gradient, before)) << "seen by another";
  other.reset();
  at::Tensor const found = halo_added(comm_.get(), gradient);
  EXPECT_TRUE(at::equal(found, expected));
  EXPECT_EQ(found.const_data_ptr(), gradient.select(2, 1).const_data_ptr());
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
