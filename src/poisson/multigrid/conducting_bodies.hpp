// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/space.hpp"
#include "voxcycle/poisson/boundary.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace voxcycle {

/// Nodes that follow each other along z.
struct NodeRun {
  std::int64_t first, end;  ///< of the nodes' indices in the whole grid
  std::int64_t body;
};

/// Bodies of voxels with a large nu that touch no Dirichlet face, surrounded by voxels with a small
/// one. Voxels that share a node are of one body; a body's nodes are the corners of its voxels, so
/// that no node has two.
struct ConductingBodies {
  std::vector<NodeRun> runs;            ///< sorted by body, then by node
  std::vector<std::int64_t> first_run;  ///< of body b: runs [first_run[b], first_run[b + 1])

  std::int64_t count() const { return std::ssize(first_run) - 1; }
};

/// A number in the widest gap between values of nu, if that spans a factor of 1024: between those
/// of conductors and those of what surrounds them. Fields without such jumps have no gap, rough
/// ones whose values are spread over many orders of magnitude among them.
/// @param nu    > 0, finite
/// @param comm  of the processes whose values count together; null: there are no others
std::optional<double> widest_gap(double const* nu, std::int64_t count,
                                 Communicator const* comm = nullptr);

/// The bodies of voxels with nu above `threshold`, at most `most`: those with the most nodes. If no
/// face is Dirichlet the largest is left out, as constants are free then.
/// **Collective**. @param nu  of one sample, on the part that this process has
/// @param boundary  of the whole grid
ConductingBodies find_bodies(double const* nu, Space const& space, Boundary const& boundary,
                             double threshold, std::int64_t maximum);

}  // namespace voxcycle
