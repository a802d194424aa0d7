// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

namespace voxcycle {

/// What features are normalised over.
enum class Norm {
  sync_batch,  ///< statistics over the whole batch of all ranks (exactly summed)
  group,       ///< statistics a sample and group of channels
  instance,    ///< statistics a sample and channel
  none,        ///< affine only
};

/// @throws Error naming the valid norms.
Norm parse_norm(std::string_view name);
std::string to_string(Norm norm);

}  // namespace voxcycle
