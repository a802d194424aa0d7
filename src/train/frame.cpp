// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/frame.hpp"

#include "voxcycle/poisson/nested_equation.hpp"
#include "voxcycle/poisson/smoother.hpp"

namespace voxcycle {

void plan_frames(Tape::Options& tape, Boundary const& boundary, Source const& source,
                 NetworkOptions const& network) {
  std::int64_t const bytes = tape.solution_bytes;
  bool const nested = network.coarse == CoarseLevels::black_box;
  bool const smooth = network.smoothing > 0 && !nested;
  tape.has_steps = boundary.has_steps();
  tape.frame = [=](Ledger& ledger, Grid3 const& grid) {
    std::int64_t a_node = 2 * bytes;  // lift and mask
    bool const loads = source.kind == SourceKind::constant && !source.is_zero();
    if ((smooth || nested) && loads) a_node += 8;  // its load, float64
    return ledger.hold("frame of " + grid.label(), a_node * grid.node_count());
  };
  if (nested) {
    tape.nested.make = [=](Ledger& ledger, Grid3 const& grid, std::int64_t samples,
                           std::int64_t micro_batch, int levels) {
      return NestedEquation::plan({ledger, grid, samples, bytes}, micro_batch, levels,
                                  !source.is_zero());
    };
    tape.nested.smooth = [=](Ledger& ledger, Grid3 const& grid, std::int64_t samples) {
      NestedEquation::plan_smoothing({ledger, grid, samples, bytes});
    };
  }
  if (!smooth) return;
  tape.smoother = [=](Ledger& ledger, Grid3 const& grid, std::int64_t samples) {
    BookedFields const fields{ledger, grid, samples, bytes};
    auto const nu = fields.voxels();  // out of the network's input
    auto const f = source.kind == SourceKind::sampled ? fields.voxels() : Ledger::Held();
    Smoother::plan(fields);
  };
}

}  // namespace voxcycle
