// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/nccl.hpp"

#include "voxcycle/core/device.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

/// One process: that the library is found, takes the types and keeps the order of work.
TEST(NcclCommunicator, ReducesWhereTensorsAre) {
  if (nccl_header_version() == 0) GTEST_SKIP() << "built without NCCL";
  require_cuda({.nccl_header = nccl_header_version()});
  auto const host = make_self_communicator();
  auto const comm = make_nccl_communicator(*host, 0);
  for (auto type : {at::kLong, at::kInt, at::kByte, at::kFloat, at::kDouble}) {
    at::Tensor values = at::arange(1000).to(type).cuda();
    at::Tensor const expected = values.clone();
    comm->all_reduce(values, ReduceOperation::sum);
    comm->broadcast(values, 0);
    auto const pending = comm->start_all_reduce(values, ReduceOperation::max);
    pending->wait();
    EXPECT_TRUE(at::equal(values, expected)) << at::toString(type);
  }
  at::Tensor on_host = at::ones({3});
  comm->all_reduce(on_host, ReduceOperation::min);
  EXPECT_TRUE(at::equal(on_host, at::ones({3})));
  EXPECT_EQ(comm->size(), 1);
}

TEST(NcclCommunicator, GathersAndSplits) {
  if (nccl_header_version() == 0) GTEST_SKIP() << "built without NCCL";
  require_cuda({.nccl_header = nccl_header_version()});
  auto const host = make_self_communicator();
  auto const comm = make_nccl_communicator(*host, 0);
  at::Tensor const bytes = at::arange(100).to(at::kByte).cuda();
  auto const part = comm->split(0);
  for (auto const* group : {comm.get(), part.get()}) {
    at::Tensor const all = group->all_gather(bytes);
    EXPECT_TRUE(all.is_cuda());
    EXPECT_TRUE(at::equal(all, bytes.unsqueeze(0)));
    auto const got = group->exchange(bytes, bytes);
    EXPECT_FALSE(got.before.defined() || got.behind.defined()) << "there are no neighbours";
  }
}

}  // namespace
}  // namespace voxcycle
