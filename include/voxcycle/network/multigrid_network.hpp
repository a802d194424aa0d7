// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/network/network.hpp"

#include <memory>

namespace voxcycle {

class LevelEquation;

/// The level-keyed network: the block for grid n is the same object in every stage of a cycle, so
/// that training at 32^3 trains exactly the inner part of the 512^3 network. x_n is log nu and,
/// with two inputs, the source f, both averaged down to grid n. One level with its coarse child
/// computes
///
///     h  = Enc_n( stem_n(x_n) + down_{2n->n}(h_2n) )
///     uc, gc = level_{n/2}( avgpool(x_n), h )
///     g  = Dec_n( cat(h, up_{n/2->n}(gc)) )
///     u_n = S( P uc + mask * (s/n) * head_n(g) )
///
/// with prolongation P and smoothing steps S, see NetworkOptions::coarse. head and down start at
/// zero: a newly entered finer level reproduces S P uc before any training there. Grids that double
/// the finest level have no block: u_n = S P u_{n/2}. Grids between two levels have the finer one's
/// block (see block_of).
///
/// With NetworkOptions::residual_input, and no smoothing steps, the block sees what is left of the
/// equation:
///
///     g   = Dec_n( cat(h, up_{n/2->n}(gc) + residual_n(r)) ),   r = n/s D^-1 (b - K P uc)
///
/// with r at the eight corners of each voxel (residual_input.hpp). In these units blocks do alike
/// on all grids: one that training first enters from below begins with the weights of the next
/// coarser one, if both have the same number of channels.
///
/// With NetworkOptions::subspace the head makes several fields, and of all sums with S P uc that
/// with the least energy is u_n (best_correction.hpp): no block can raise the energy. The coarsest
/// level, which is solved directly, has no head then.
class MultigridNetwork : public Network {
 public:
  MultigridNetwork(NetworkOptions const& options, std::shared_ptr<LevelProblems> problems);
  ~MultigridNetwork() override;

  MicroBatches forward(ForwardContext const& context, Grid3 const& grid,
                       MicroBatches const& x) override;
  std::vector<LevelParameters> levels(Grid3 const& grid) const override;
  void begin_level(std::int64_t level) override;
  Script script() const override;
  /// See require_fits of network.hpp.
  static void require_fits(NetworkOptions const& options, Grid3 const& grid);

 private:
  class Level;
  struct Output;
  /// u on the nodes of the grid of a pass, or one above the finest block.
  MicroBatches solution(ForwardContext const& context, LevelEquation& equation, Grid3 const& grid,
                        MicroBatches const& x);
  Output run_level(ForwardContext const& context, LevelEquation& equation, Grid3 const& grid,
                   MicroBatches const& x, MicroBatches const& from_finer);

  NetworkOptions options_;
  std::map<std::int64_t, std::shared_ptr<Level>> levels_;
};

}  // namespace voxcycle
