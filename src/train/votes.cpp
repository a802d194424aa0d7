// SPDX-License-Identifier: BSD-3-Clause
#include "train/votes.hpp"

#include <limits>

#include <ATen/ATen.h>

namespace voxcycle {

Votes count_votes(Communicator const& comm, Votes const& mine) {
  auto const of_rank_0 = [&](double seconds) {
    return comm.rank() == 0 ? seconds : -std::numeric_limits<double>::infinity();
  };
  at::Tensor votes = at::tensor({mine.stop ? 1.0 : 0.0, mine.data_share, of_rank_0(mine.seconds),
                                 of_rank_0(mine.stage_seconds), of_rank_0(mine.step_seconds),
                                 of_rank_0(mine.since_checkpoint)},
                                at::kDouble);
  comm.all_reduce(votes, ReduceOperation::max);
  auto const* const value = votes.const_data_ptr<double>();
  return {value[0] > 0.0, value[1], value[2], value[3], value[4], value[5]};
}

}  // namespace voxcycle
