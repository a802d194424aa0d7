// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/mesh.hpp"

#include "voxcycle/core/error.hpp"

namespace voxcycle {

Mesh::Mesh(Communicator const& all_ranks, Slabs const& slabs_of_groups)
    : all(all_ranks), slabs(slabs_of_groups) {
  VOXCYCLE_REQUIRE(all.size() % slabs.count == 0,
                   all.size() << " ranks do not divide into groups of " << slabs.count << '.');
  if (slabs.count > 1) space = all.split(group());
}

}  // namespace voxcycle
