// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/network/nodal_frame.hpp"

#include <memory>
#include <vector>

namespace voxcycle {

/// The equation on the grids of one pass of MultigridNetwork: where the coarsest level starts, how
/// a solution comes up a level, and what smooths it. Everything is differentiable in u.
class PassEquation {
 public:
  PassEquation() = default;
  virtual ~PassEquation() = default;
  PassEquation(PassEquation const&) = delete;
  PassEquation& operator=(PassEquation const&) = delete;

  /// u on the coarsest grid, before any correction.
  virtual Units coarsest(Grid3 const& grid, Units const& x) = 0;
  /// u of fine.coarsened() on the nodes of `fine`, with the exact Dirichlet values.
  virtual Units prolonged(Grid3 const& fine, Units const& coarse) = 0;
  /// u after the smoothing steps. @param x  what the network sees on this grid
  virtual Units smoothed(Grid3 const& grid, Units const& u, Units const& x) = 0;
  /// The same, with the best combination of the directions (see best_correction.hpp).
  /// @throws Error unless the grids are nested
  virtual Units corrected(Grid3 const& grid, Units const& u, Units const& directions) = 0;
};

/// As the frame of the finest grid wants it: nested, or with an equation of its own on each grid.
/// @param x       of the finest grid
/// @param levels  number of grids of the pass
std::unique_ptr<PassEquation> equation_of(Pass const& pass, FrameCache& frames, Grid3 const& finest,
                                          Units const& x, int levels);

/// What a PassEquation does, followed on a tape.
class PlannedEquation {
 public:
  PlannedEquation(Tape& tape, Grid3 const& finest, int levels);
  /// A grid that the network meets for its equation alone.
  void meet(Grid3 const& grid) const;
  Field coarsest(Grid3 const& grid) const;
  Field prolonged(Grid3 const& fine, Field const& coarse) const;
  Field smoothed(Field const& u, Field const& x) const;
  Field corrected(Field const& u, Field const& directions) const;

 private:
  Tape* tape_;
  Grid3 finest_;
  std::vector<Ledger::Held> nested_;
};

}  // namespace voxcycle
