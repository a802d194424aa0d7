// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"

namespace voxcycle {

/// What a rank says after a step; once counted, the same on all ranks.
struct Votes {
  bool stop = false;              ///< this rank was asked to stop; counted: any rank was
  double data_share = 0.0;        ///< of its time that it waits for data; counted: the largest
  double seconds = 0.0;           ///< of training; counted, as all below: rank 0's clock
  double stage_seconds = 0.0;     ///< of the stage in progress
  double step_seconds = 0.0;      ///< recent mean of a step
  double since_checkpoint = 0.0;  ///< seconds
};

/// All ranks take rank 0's clock, so that budgets in seconds end, rates fall and checkpoints are
/// written at the same step everywhere. **Collective**.
Votes count_votes(Communicator const& comm, Votes const& mine);

}  // namespace voxcycle
