// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/network/level_problem.hpp"

#include <memory>
#include <vector>

namespace voxcycle {

/// The equation on the grids of one pass of MultigridNetwork: where the coarsest level starts, how
/// a solution comes up a level, and what smooths it. Everything is differentiable in u.
class LevelEquation {
 public:
  LevelEquation() = default;
  virtual ~LevelEquation() = default;
  LevelEquation(LevelEquation const&) = delete;
  LevelEquation& operator=(LevelEquation const&) = delete;

  /// u on the coarsest grid, before any correction.
  virtual MicroBatches coarsest(Grid3 const& grid, MicroBatches const& x) = 0;
  /// u of fine.coarsened() on the nodes of `fine`, with the exact Dirichlet values.
  virtual MicroBatches prolonged(Grid3 const& fine, MicroBatches const& coarse) = 0;
  /// u after the smoothing steps. @param x  what the network sees on this grid
  virtual MicroBatches smoothed(Grid3 const& grid, MicroBatches const& u,
                                MicroBatches const& x) = 0;
  /// The same, with the best combination of the directions (see best_correction.hpp).
  /// @throws Error unless the grids are nested
  virtual MicroBatches corrected(Grid3 const& grid, MicroBatches const& u,
                                 MicroBatches const& directions) = 0;
};

/// As the problem of the finest grid wants it: nested, or with an equation of its own on each grid.
/// @param x       of the finest grid
/// @param levels  number of grids of the pass
std::unique_ptr<LevelEquation> equation_of(ForwardContext const& context, LevelProblems& problems,
                                           Grid3 const& finest, MicroBatches const& x, int levels);

}  // namespace voxcycle
